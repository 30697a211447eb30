// Terms: words with a fixed translation, or none. The browser keeps them.

/** @typedef {{source: string, target: string, keep: boolean}} Term  keep: the word stays as it is */

/** The server's bound on each of the two lists. */
export const MAX_TERMS = 256;
const MAX_TERM_CHARS = 200;

/** Returns what is left of a stored list after a look at every member; another version may have written it. */
export function readTerms(stored) {
  if (!Array.isArray(stored)) return [];
  return stored.filter((each) => typeof each?.source === "string").slice(0, MAX_TERMS).map(cleanTerm);
}

/** @returns {Term} */
export function cleanTerm({ source = "", target = "", keep = false }) {
  return { source: oneLine(source), target: oneLine(target), keep: Boolean(keep) };
}

/** Returns the number of terms that a request would carry. */
export function usedTerms(terms) {
  return terms.filter((each) => each.source.trim() && (each.keep || each.target.trim())).length;
}

function oneLine(text) {
  return String(text).replace(/[\r\n]+/g, " ").slice(0, MAX_TERM_CHARS);
}
