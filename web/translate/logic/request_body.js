// The request of a state: the body of POST /translate, and the same as a command for a terminal.
// A translation carries the request that it answers: whether what is shown is what was asked is told here too.

import { usedGlossary, usedTerms } from "./terms.js";

/** Formats of a text, as the API names them. */
export const FORMATS = Object.freeze(["text", "html", "markdown"]);
const SURROGATE_PAIRS = /[\ud800-\udbff][\udc00-\udfff]/g;

/** Returns the body of the request. */
export function requestBody(state) {
  const { text, source, target, format } = state;
  const terms = usedTerms(state);
  const glossary = usedGlossary(state);
  const body = { text, source_lang: source, target_lang: target };
  if (format !== "text") body.format = format;
  const kept = terms.filter((each) => each.keep).map((each) => each.source.trim());
  const translated = terms.filter((each) => !each.keep);
  if (kept.length) body.do_not_translate = [...new Set(kept)];
  if (translated.length) body.terms = Object.fromEntries(translated.map((each) => [each.source.trim(), each.target.trim()]));
  if (glossary) body.glossary = glossary.id;
  return body;
}

/** Returns whether two requests ask the same. */
export function isSameRequest({ text, ...one }, { text: otherText, ...other }) {
  return text === otherText && JSON.stringify(one) === JSON.stringify(other);
}

/** Returns the request as a curl command. A key is named, never shown. */
export function curlCommand(url, body, hasKey) {
  const parts = [`curl ${quoted(url)}`, `-H 'Content-Type: application/json'`];
  if (hasKey) parts.push('-H "Authorization: Bearer $PAIRWAY_KEY"');
  parts.push(`-d ${quoted(JSON.stringify(body))}`);
  return parts.join(" \\\n  ");
}

/** Returns the number of characters as the server counts them: code points, not UTF-16 units. */
export function characterCount(text) {
  return text.length - (text.match(SURROGATE_PAIRS)?.length ?? 0);
}

/** Returns whether the text of a state has more characters than one request may have. */
export function isTooLong({ text, config }) {
  return characterCount(text) > config.max_text_chars;
}

/** Returns whether the whole translation of the present text is shown. */
export function isDone(state) {
  const { translation } = state;
  return Boolean(translation?.result) && isSameRequest(translation.request, requestBody(state));
}

/** Returns whether what is shown is not, and is not becoming, the translation of the present text. */
export function isStale(state) {
  const { translation, isBusy } = state;
  if (!translation || isDone(state)) return false;
  return !isBusy || !isSameRequest(translation.request, requestBody(state));
}

/**
 * Returns a translation in pieces, to mark the uncertain ones.
 * @param {[number, number][]} spans in code points, as the server counts
 */
export function piecesOf(text, spans) {
  const points = Array.from(text);
  const bounds = [0, ...spans.flat(), points.length];
  return bounds.slice(1).map((end, at) => ({ text: points.slice(bounds[at], end).join(""), isUncertain: at % 2 === 1 }));
}

function quoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
