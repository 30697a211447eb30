// The text on the page, as the tab keeps it over a reload and the way back.

import { tagOrNone } from "./languages.js";
import { FORMATS } from "./request_body.js";

/** @typedef {{text: string, source: string, target: string, format: string, address: string}} Draft */

/** Returns the draft of a state. `address`: the fragment that it began with, which is no news at the next load. */
export function draftOf({ text, source, target, isTargetChosen, format }, address) {
  return text || address ? { text, source, target: isTargetChosen ? target : "", format, address } : null;
}

/** Returns what a stored draft says, or null if it is none, or the address has another text. */
export function readDraft(stored, address) {
  const names = ["text", "source", "target", "format", "address"];
  if (!names.every((name) => typeof stored?.[name] === "string") || stored.address !== address) return null;
  const { text, source, target, format } = stored;
  return { text, source: tagOrNone(source) || "auto", target: tagOrNone(target), format: FORMATS.includes(format) ? format : "text" };
}
