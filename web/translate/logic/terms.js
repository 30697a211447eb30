// Terms: words with a fixed translation, or none. The browser keeps them, and reads and writes files of them as DeepL and
// spreadsheets do: a word, its translation, and in CSV their two languages.

import { tagOrNone } from "./languages.js";

/** @typedef {{source: string, target: string, keep: boolean, from: string, to: string}} Term  keep: the word stays as it is; from, to: languages, "" for any */

/** The server's bound on each of the two lists of a request. */
export const MAX_TERMS = 256;
/** A browser keeps five megabytes for a page, and a table of more is no table for people. */
export const MAX_KEPT_TERMS = 1024;
const MAX_TERM_CHARS = 200;
/** Ten times the terms that are kept. */
export const MAX_FILE_MEGABYTES = 4;
// A field in quotes, where a quote is doubled and lines may break, or one without; and what ends it.
const CSV_FIELD = /(?:"([^"]*(?:""[^"]*)*)"[^,;\r\n]*|([^,;\r\n]*))([,;]|\r\n?|\n|$)/gy;
const UTF16_MARKS = Object.freeze({ "255 254": "utf-16le", "254 255": "utf-16be" });

/** Returns what is left of stored terms after a look at every member; another version may have written it. */
export function readTerms(stored) {
  if (!Array.isArray(stored)) return [];
  return stored.filter((each) => typeof each?.source === "string").slice(0, MAX_KEPT_TERMS).map(cleanTerm);
}

/** @returns {Term} */
export function cleanTerm({ source = "", target = "", keep = false, from = "", to = "" }) {
  return { source: oneLine(source), target: oneLine(target), keep: Boolean(keep), from: tagOrNone(String(from)), to: tagOrNone(String(to)) };
}

/** Returns whether a term is for these languages; a source that is detected may be any. */
export function isFor({ from, to }, { source, target }) {
  return (!from || source === "auto" || from === source) && (!to || to === target);
}

/** Returns the terms that a request carries. */
export function usedTerms(state) {
  const isUsed = (each) => each.source.trim() && (each.keep || each.target.trim()) && isFor(each, state);
  return state.terms.filter(isUsed).slice(0, MAX_TERMS);
}

/** Returns the glossary that a request names; the server needs the language of the text, and one of its dictionaries. */
export function usedGlossary({ glossaries = [], glossary, source, target }) {
  const isOf = ({ source_lang: from, target_lang: to }) => (from === source || from === source.split("-")[0]) && to === target;
  return glossaries.find(({ id, dictionaries }) => id === glossary && dictionaries.some(isOf));
}

/** Returns the terms with others, which take the place of those of the same words and languages, and how many others had no place. */
export function mergeTerms(terms, others) {
  const name = ({ source, from, to }) => JSON.stringify([source.trim(), from, to]);
  const merged = new Map([...terms, ...others].map((each) => [name(each), each]));
  return { terms: [...merged.values()].slice(0, MAX_KEPT_TERMS), left: Math.max(0, merged.size - MAX_KEPT_TERMS) };
}

/** Returns the content of a file; TSV has no languages. */
export function termFile(terms, kind) {
  const rows = terms.map(({ source, target, keep, from, to }) => [source, keep ? source : target, from, to]);
  const line = kind === "csv" ? (row) => row.map(quoted).join(",") : (row) => row.slice(0, 2).join("\t");
  return rows.map((row) => `${line(row)}\n`).join("");
}

/** Returns the text of a file: UTF-16 with its mark, UTF-8, or else what spreadsheets on Windows write. */
export function fileText(bytes) {
  const utf16 = UTF16_MARKS[new Uint8Array(bytes).subarray(0, 2).join(" ")];
  try {
    return new TextDecoder(utf16 ?? "utf-8", { fatal: !utf16 }).decode(bytes);
  } catch {
    return new TextDecoder("windows-1252").decode(bytes);
  }
}

/**
 * Returns the terms of a file, and how many lines have none. A word that is its own translation stays as it is.
 * `pair`: the languages of the lines that name none.
 */
export function readTermFile(content, pair) {
  const isTsv = /^.*\t/.test(content.trimStart());
  const rows = isTsv ? content.split(/\r\n?|\n/).map((line) => line.split("\t")) : csvRows(content);
  const filled = rows.map((row) => row.map((field) => field.trim())).filter((row) => row.some(Boolean));
  const terms = filled.flatMap(([source = "", target = "", from = "", to = ""]) => {
    const named = from || to ? { from: tagOrNone(from), to: tagOrNone(to) } : pair;
    if (!source || !target || (from && !named.from) || (to && !named.to)) return [];
    return [cleanTerm({ source, target, keep: source === target, ...named })];
  });
  return { terms, left: filled.length - terms.length };
}

function csvRows(content) {
  const rows = [[]];
  for (const [, inside, plain, end] of content.matchAll(CSV_FIELD)) {
    rows.at(-1).push(inside === undefined ? plain : inside.replaceAll('""', '"'));
    if (end !== "," && end !== ";") rows.push([]);
  }
  return rows;
}

function quoted(field) {
  return /[",;]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field;
}

function oneLine(text) {
  return String(text).replace(/[\t\r\n]+/g, " ").slice(0, MAX_TERM_CHARS);
}
