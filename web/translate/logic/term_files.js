// Files of terms, as DeepL and spreadsheets write them: a word, its translation, and in CSV their two languages.

import { tagOrNone } from "./languages.js";
import { cleanTerm } from "./terms.js";

/** Ten times the terms that are kept. */
export const MAX_FILE_BYTES = 4_000_000;
// A field in quotes, or one without; a quote inside is doubled.
const CSV_FIELD = /"((?:[^"]|"")*)"[^,;]*|([^,;]*)/y;

/** Returns the content of a file; TSV has no languages. */
export function termFile(terms, kind) {
  const rows = terms.map(({ source, target, keep, from, to }) => [source, keep ? source : target, from, to]);
  const line = kind === "csv" ? (row) => row.map(quoted).join(",") : (row) => row.slice(0, 2).join("\t");
  return rows.map((row) => `${line(row)}\n`).join("");
}

/**
 * Returns the terms of a file, and how many lines have none. A word that is its own translation stays as it is.
 * `pair`: the languages of the lines that name none.
 */
export function readTermFile(content, pair) {
  const lines = content.replace(/^\ufeff/, "").split(/\r\n?|\n/).filter((line) => line.trim());
  const split = lines[0]?.includes("\t") ? (line) => line.split("\t") : csvFields;
  const terms = lines.flatMap((line) => {
    const [source = "", target = "", from = "", to = ""] = split(line).map((field) => field.trim());
    if (!source || !target) return [];
    const named = from || to ? { from: tagOrNone(from), to: tagOrNone(to) } : pair;
    return [cleanTerm({ source, target, keep: source === target, ...named })];
  });
  return { terms, left: lines.length - terms.length };
}

function csvFields(line) {
  const fields = [];
  CSV_FIELD.lastIndex = 0;
  for (;;) {
    const [, inside, plain] = CSV_FIELD.exec(line);
    fields.push(inside === undefined ? plain : inside.replaceAll('""', '"'));
    if (CSV_FIELD.lastIndex >= line.length) return fields;
    CSV_FIELD.lastIndex += 1; // the separator
  }
}

function quoted(field) {
  return /[",;]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field;
}
