// A link that carries a text: in the fragment, which browsers do not send to servers.

import { tagOrNone } from "./languages.js";
import { FORMATS } from "./request_body.js";

/** Longer texts make addresses that programs cut. */
export const MAX_LINKED_CHARS = 8000;

/** Returns the fragment for a text and its languages. */
export function linkFragment({ text, source, target, format }) {
  const fields = new URLSearchParams({ source, target });
  if (format !== "text") fields.set("format", format);
  fields.set("text", text);
  return `#${fields}`;
}

/** Returns the fragment for a query of LibreTranslate's page, such as `?source=en&target=de&q=Hello`, or null. */
export function fragmentOfQuery(query) {
  const fields = new URLSearchParams(query);
  if (!fields.has("q")) return null;
  const [source, target] = [fields.get("source") ?? "auto", fields.get("target") ?? ""];
  return linkFragment({ text: fields.get("q"), source, target, format: "text" });
}

/** Returns what a fragment says, or null without a text in it. */
export function readFragment(fragment) {
  const fields = new URLSearchParams(fragment.replace(/^#/, ""));
  if (!fields.has("text")) return null;
  const format = fields.get("format") ?? "text";
  return {
    text: fields.get("text"),
    source: tagOrNone(fields.get("source") ?? "") || "auto",
    target: tagOrNone(fields.get("target") ?? ""),
    format: FORMATS.includes(format) ? format : "text",
  };
}
