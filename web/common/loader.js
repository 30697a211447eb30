// Runs before all other files of a page: tries those again that are lost on the way, and says so.

const WORDS = {
  en: ["A part of this page has not arrived. Trying again …", "Reload"],
  de: ["Ein Teil dieser Seite ist nicht angekommen. Neuer Versuch …", "Neu laden"],
  fr: ["Une partie de cette page n’est pas arrivée. Nouvel essai…", "Recharger"],
  es: ["Una parte de esta página no ha llegado. Se intenta de nuevo…", "Recargar"],
  ja: ["このページの一部が届いていません。もう一度試しています…", "再読み込み"],
  zh: ["此页面的一部分未能加载。正在重试……", "重新加载"],
  ko: ["이 페이지의 일부가 도착하지 않았습니다. 다시 시도하는 중…", "새로고침"],
};
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 8000;
/** How often each file was lost that is missing now. */
const losses = new Map();

document.addEventListener("error", (event) => noteLoss(event.target), true);
document.addEventListener("load", ({ target }) => losses.delete(addressOf(target)) && say(), true);

function addressOf({ localName, rel, src, href }) {
  return localName === "script" || rel === "stylesheet" ? (src || href).split("?")[0] : "";
}

function noteLoss(element) {
  const address = addressOf(element);
  if (!address) return;
  const count = (losses.get(address) ?? 0) + 1;
  losses.set(address, count);
  say();
  setTimeout(() => tryAgain(element, address, count), Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (count - 1)));
}

async function tryAgain(element, address, count) {
  if (await isOutdated(address)) return location.reload();
  const again = document.createElement(element.localName);
  for (const { name, value } of element.attributes) again.setAttribute(name, value);
  again[element.src ? "src" : "href"] = `${address}?${count}`; // browsers remember that an address had no module
  element.replaceWith(again);
}

// The server is of another version by now: its pages name other files.
async function isOutdated(address) {
  try {
    const page = await fetch(location.pathname, { cache: "no-store", signal: AbortSignal.timeout(LONGEST_WAIT_MS) });
    return page.ok && !(await page.text()).includes(address.split("/assets/")[1]);
  } catch {
    return false;
  }
}

function say() {
  document.getElementById("lost-files")?.remove();
  if (losses.size === 0) return;
  if (!document.body) return document.addEventListener("DOMContentLoaded", say);
  const lang = navigator.languages.map((tag) => tag.slice(0, 2)).find((tag) => tag in WORDS) ?? "en";
  const [words, reload] = WORDS[lang];
  const notice = Object.assign(document.createElement("p"), { id: "lost-files", lang, className: "notice", role: "alert" });
  const button = { className: "button outlined small", textContent: reload, onclick: () => location.reload() };
  notice.append(`${words} `, Object.assign(document.createElement("button"), button));
  document.body.prepend(notice);
}
