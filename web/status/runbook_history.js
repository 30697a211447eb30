// Runbooks in the browser's history: each is an entry, above an entry of the page without one.

/** How many entries, up to the present one, show a runbook. */
let depth = 0;

/** Returns the address behind `#` of a document, for what it is asked, and its heading. */
export function addressOf({ path, subject, at }) {
  return `#${new URLSearchParams(Object.entries({ runbook: path, for: subject, at }).filter(([, value]) => value))}`;
}

/** Returns `{path, subject, at}`, or null where no document is named. */
export function readAddress(hash) {
  const values = new URLSearchParams(hash.slice(1));
  const path = values.get("runbook") ?? "";
  return /^[\w/-]+\.md$/.test(path) ? { path, subject: values.get("for") ?? "", at: values.get("at") ?? "" } : null;
}

/** Begins: below a runbook that the page was opened with, there is an entry without one. */
export function openHistory() {
  if (!readAddress(location.hash) || history.state?.depth) return;
  const { hash } = location;
  history.replaceState(null, "", location.pathname + location.search);
  history.pushState({ depth: 1 }, "", hash);
}

/** Notes the present entry, and returns its document or null. */
export function enterRunbook() {
  const address = readAddress(location.hash);
  if (address && !history.state?.depth) history.replaceState({ depth: depth + 1 }, "");
  depth = address ? history.state.depth : 0;
  return address;
}

/** Goes back to the page without a runbook. */
export function leaveRunbook() {
  if (depth > 0) history.go(-depth);
}
