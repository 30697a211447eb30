// History of translations: in this browser only, and only if its user wants it.

/** @typedef {{text: string, translation: string, source: string, target: string, format: string, at: number}} Entry */

const MAX_ENTRIES = 50;
/** Longer texts are not kept: a browser keeps five megabytes for a page. */
const MAX_ENTRY_CHARS = 5000;
// A text that grew within this time is the same text, still being typed.
const SAME_TEXT_MS = 120_000;

/** Returns the entries with a new one in front; it takes the place of its own beginnings. */
export function withEntry(entries, entry) {
  if (!entry.text.trim() || entry.text.length > MAX_ENTRY_CHARS || entry.translation.length > MAX_ENTRY_CHARS) return entries;
  const isEarlier = (other) =>
    other.target === entry.target &&
    (other.text === entry.text || (entry.at - other.at < SAME_TEXT_MS && related(other.text, entry.text)));
  return [entry, ...entries.filter((other) => !isEarlier(other))].slice(0, MAX_ENTRIES);
}

/** Returns what is left of stored entries after a look at every member. */
export function readEntries(stored) {
  if (!Array.isArray(stored)) return [];
  const names = ["text", "translation", "source", "target", "format"];
  return stored.filter((each) => names.every((name) => typeof each?.[name] === "string")).slice(0, MAX_ENTRIES);
}

function related(one, other) {
  return one.startsWith(other) || other.startsWith(one);
}
