// What both pages do with the browser: what the server wrote into the page, the clock, the focus, and the clipboard.

/** Returns what the server says about itself: `version`, `max_text_chars`, and whether it has `keys`. */
export function readConfig() {
  return JSON.parse(document.querySelector('meta[name="pairway"]').content);
}

/** The browser's clock, in milliseconds; tests have their own. */
export const CLOCK = Object.freeze({
  now: () => performance.now(),
  setTimeout: (call, wait) => setTimeout(call, wait),
  clearTimeout: (timer) => clearTimeout(timer),
});

/** Gives a control the focus, where the one that had it goes away. */
export function focusOn(id) {
  document.getElementById(id)?.focus();
}

/** Copies a text, with the `html` of a formatted one, which word processors take. */
export async function copyText(text, html = "") {
  const blob = (type, content) => ({ [type]: new Blob([content], { type }) });
  try {
    await navigator.clipboard.write([new ClipboardItem({ ...blob("text/plain", text), ...(html && blob("text/html", html)) })]);
  } catch {
    copyBySelection(text); // without TLS browsers have no clipboard object
  }
}

function copyBySelection(text) {
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "visually-hidden";
  const focused = document.activeElement;
  (focused?.closest("dialog") ?? document.body).append(area); // beside a modal dialog it could not be selected
  area.select();
  document.execCommand("copy");
  area.remove();
  focused?.focus();
}
