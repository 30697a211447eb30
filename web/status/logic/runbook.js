// Runbooks, Markdown texts of our own, as blocks; no HTML is ever made of them.

/** Where documents stand in the repository, all of which the proxy serves. */
const FOLDER = "/docs/operations/";

/** Returns a document, `{title, blocks}`. */
export function readDocument(markdown) {
  const [title, ...blocks] = readBlocks(markdown.split("\n"));
  return { title: title.text, blocks };
}

/** Returns the anchor of a heading. */
export function anchorOf(title) {
  return title.toLowerCase().replace(/[^\p{L}\p{N}_\- ]/gu, "").replaceAll(" ", "-");
}

/** Returns the document that a link in another one leads to, `{path, at}`, or null where the proxy does not serve it. */
export function linkedDocument(target, path) {
  const { protocol, host, pathname, hash } = new URL(target, `file://${FOLDER}${path}`);
  const isServed = protocol === "file:" && host === "" && pathname.startsWith(FOLDER) && pathname.endsWith(".md");
  return isServed ? { path: pathname.slice(FOLDER.length), at: hash.slice(1) } : null;
}

/** Returns pieces of a line: `{kind: "text" | "code" | "strong" | "link", text, target}`. */
export function readInline(line) {
  const pieces = [];
  let at = 0;
  for (const found of line.matchAll(/`([^`]+)`|\*\*([^*]+)\*\*|\[([^\]]+)\]\(([^)]*)\)/g)) {
    if (found.index > at) pieces.push({ kind: "text", text: line.slice(at, found.index) });
    if (found[1]) pieces.push({ kind: "code", text: found[1] });
    else if (found[2]) pieces.push({ kind: "strong", text: found[2] });
    else pieces.push({ kind: "link", text: found[3].replaceAll("`", ""), target: found[4] });
    at = found.index + found[0].length;
  }
  if (at < line.length) pieces.push({ kind: "text", text: line.slice(at) });
  return pieces;
}

function readBlocks(lines) {
  const blocks = [];
  let isCode = false;
  for (const line of lines) {
    const last = blocks.at(-1);
    const [, marks, heading] = line.match(/^(#+) (.+)$/) ?? [];
    if (line.startsWith("```")) {
      isCode = !isCode;
      if (isCode) blocks.push({ kind: "code", language: line.slice(3), lines: [] });
    } else if (isCode) last.lines.push(line);
    else if (heading) blocks.push({ kind: "heading", level: marks.length, text: heading.replaceAll("`", ""), anchor: anchorOf(heading) });
    else if (/^\|[-|\s]+\|$/.test(line) || /^\s*<\/?[a-z]/.test(line)) continue;
    else if (line.startsWith("|")) addItem(blocks, "table", line.slice(1, -1).split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|")));
    else if (/^\d+\. /.test(line)) addItem(blocks, "list", line.replace(/^\d+\. /, ""));
    else if (line.startsWith("- ")) addItem(blocks, "bullets", line.slice(2));
    else if (line.trim() === "") blocks.push({ kind: "gap" });
    else if (last?.kind === "list" || last?.kind === "bullets") last.items[last.items.length - 1] += ` ${line.trim()}`;
    else if (last?.kind === "paragraph") last.text += ` ${line}`;
    else blocks.push({ kind: "paragraph", text: line });
  }
  return blocks.filter(({ kind }) => kind !== "gap");
}

function addItem(blocks, kind, item) {
  if (blocks.at(-1)?.kind !== kind) blocks.push({ kind, items: [] });
  blocks.at(-1).items.push(item);
}
