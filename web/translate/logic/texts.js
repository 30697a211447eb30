// A text with its languages: in the fragment of a link, which browsers do not send to servers, as the tab keeps it over a
// reload and the way back, and in the history, which is in this browser only, and only if its user wants it.

import { tagOrNone } from "./languages.js";
import { FORMATS } from "./request_body.js";

/** Longer texts make addresses that programs cut. */
export const MAX_LINKED_CHARS = 8000;
/** A tag of no language, which no server serves. */
const UNKNOWN_LANGUAGE = "xx";
const MAX_ENTRIES = 50;
/** Longer texts are not kept: a browser keeps five megabytes for a page. */
const MAX_ENTRY_CHARS = 5000;
// A text that grew within this time is the same text, still being typed.
const SAME_TEXT_MS = 120_000;

/** @typedef {{text: string, translation: string, source: string, target: string, format: string, at: number}} Entry */

/** Returns the fragment for a text and its languages. */
export function linkFragment({ text, source, target, format }) {
  const fields = new URLSearchParams({ source, target });
  if (format !== "text") fields.set("format", format);
  fields.set("text", text);
  return `#${fields}`;
}

/** Returns the fragment for a query as LibreTranslate's (`?source=en&target=de&q=Hello`) or Google's page names its fields, or null. */
export function fragmentOfQuery(query) {
  const fields = new URLSearchParams(query);
  const field = (...names) => names.map((name) => fields.get(name)).find((value) => value !== null);
  const text = field("q", "text");
  if (text === undefined) return null;
  return linkFragment({ text, source: field("source", "sl") ?? "auto", target: field("target", "tl") ?? "", format: "text" });
}

/** Returns what a fragment says, or null without a text in it. */
export function readFragment(fragment) {
  const fields = new URLSearchParams(fragment.replace(/^#/, ""));
  return fields.has("text") ? checked(Object.fromEntries(fields)) : null;
}

/** Returns the draft of a state. `address`: the fragment that it began with, which is no news at the next load. */
export function draftOf({ text, source, target, isTargetChosen, format }, address) {
  return text || address ? { text, source, target: isTargetChosen ? target : "", format, address } : null;
}

/** Returns what a stored draft says, or null if it is none. */
export function readDraft(stored) {
  const names = ["text", "source", "target", "format", "address"];
  return names.every((name) => typeof stored?.[name] === "string") ? { ...checked(stored), address: stored.address } : null;
}

// A target that is none is not served, which the page says; another one would be a guess.
function checked({ text, source = "", target = "", format }) {
  return { text, source: tagOrNone(source) || "auto", target: tagOrNone(target) || (target && UNKNOWN_LANGUAGE), format: FORMATS.includes(format) ? format : "text" };
}

/** Returns the entries with a new one in front; it takes the place of its own beginnings. */
export function withEntry(entries, entry) {
  if (!entry.text.trim() || entry.text.length > MAX_ENTRY_CHARS || entry.translation.length > MAX_ENTRY_CHARS) return entries;
  const isEarlier = (other) =>
    other.target === entry.target &&
    (other.text === entry.text ||
      (entry.at - other.at < SAME_TEXT_MS && (other.text.startsWith(entry.text) || entry.text.startsWith(other.text))));
  return [entry, ...entries.filter((other) => !isEarlier(other))].slice(0, MAX_ENTRIES);
}

/** Returns what is left of stored entries after a look at every member. */
export function readEntries(stored) {
  if (!Array.isArray(stored)) return [];
  const names = ["text", "translation", "source", "target", "format"];
  return stored.filter((each) => names.every((name) => typeof each?.[name] === "string")).slice(0, MAX_ENTRIES);
}
