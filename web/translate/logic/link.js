// A text with its languages: in the fragment of a link, which browsers do not send to servers, and as the tab keeps it
// over a reload and the way back.

import { tagOrNone } from "./languages.js";
import { FORMATS } from "./request_body.js";

/** Longer texts make addresses that programs cut. */
export const MAX_LINKED_CHARS = 8000;
/** A tag of no language, which no server serves. */
const UNKNOWN_LANGUAGE = "xx";

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
  if (!fields.has("text")) return null;
  const names = ["text", "source", "target", "format"];
  return checked(Object.fromEntries(names.map((name) => [name, fields.get(name) ?? ""])));
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
function checked({ text, source, target, format }) {
  return { text, source: tagOrNone(source) || "auto", target: tagOrNone(target) || (target && UNKNOWN_LANGUAGE), format: FORMATS.includes(format) ? format : "text" };
}
