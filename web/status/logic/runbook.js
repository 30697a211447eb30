// Sections of the runbooks, a Markdown text of our own, as blocks; no HTML is ever made of them.

/**
 * Returns the section under a heading, or null.
 * @param {string} markdown
 * @param {string} anchor such as `a-replica-is-down`
 * @returns {{title: string, blocks: object[]} | null}
 */
export function findSection(markdown, anchor) {
  for (const section of markdown.split(/^## /m).slice(1)) {
    const [title, ...lines] = section.split("\n");
    if (anchorOf(title) === anchor) return { title, blocks: readBlocks(lines) };
  }
  return null;
}

/** Returns the anchor of a heading. */
export function anchorOf(title) {
  return title.toLowerCase().replace(/[^\p{L}\p{N}_\- ]/gu, "").replaceAll(" ", "-");
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
    if (line.startsWith("```")) {
      isCode = !isCode;
      if (isCode) blocks.push({ kind: "code", lines: [] });
    } else if (isCode) last.lines.push(line);
    else if (/^\|[-|\s]+\|$/.test(line)) continue;
    else if (line.startsWith("|")) addItem(blocks, "table", line.slice(1, -1).split("|").map((cell) => cell.trim()));
    else if (/^\d+\. /.test(line)) addItem(blocks, "list", line.replace(/^\d+\. /, ""));
    else if (line.trim() === "") blocks.push({ kind: "gap" });
    else if (last?.kind === "paragraph") last.text += ` ${line}`;
    else blocks.push({ kind: "paragraph", text: line });
  }
  return blocks.filter(({ kind }) => kind !== "gap");
}

function addItem(blocks, kind, item) {
  if (blocks.at(-1)?.kind !== kind) blocks.push({ kind, items: [] });
  blocks.at(-1).items.push(item);
}
