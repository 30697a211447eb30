// Runbooks, Markdown texts of our own, as blocks; no HTML is ever made of them. Their commands are filled in for one replica,
// pair or service.

/** Where documents stand in the repository, all of which the proxy serves. */
const FOLDER = "/docs/operations/";
/** What runs API servers, and how comments of commands name it. */
const MARKS = { compose: "compose", systemd: "systemd", launcher: "make up", kubernetes: "kubernetes" };
/** What may stand in a shell's command; servers report names, and may be anybody's. */
const PLAIN = /^\w[\w@.:/[\]-]*$/;

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
  const parts = line.split(/(`[^`]+`|\*\*[^*]+\*\*|\[[^\]]+\]\([^)]*\))/).filter(Boolean);
  return parts.map((part) => {
    const [, code, strong, text, target] = part.match(/^`(.+)`$|^\*\*(.+)\*\*$|^\[(.+)\]\((.*)\)$/) ?? [];
    if (code) return { kind: "code", text: code };
    if (strong) return { kind: "strong", text: strong };
    return text ? { kind: "link", text: text.replaceAll("`", ""), target } : { kind: "text", text: part };
  });
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

/**
 * Returns what is known for the places in commands; a place without a value stays a gap.
 * `subject`: a replica's URL, pairs, or a service; `proxy`: the proxy's address.
 */
export function placeValues(status, subject, proxy) {
  const replicas = status?.replicas ?? [];
  const replica = replicas.find(({ url }) => url === subject);
  const kinds = new Set((replica ? [replica] : replicas).map((each) => splitName(each.runs_by).kind));
  const kind = kinds.size === 1 ? [...kinds][0] : undefined;
  const values = { kind, PROXY: proxy };
  if (replica) Object.assign(values, { REPLICA: subject, REPLICA_PORT: new URL(subject).port, NAME: splitName(replica.runs_by).name });
  if (replica && kind === "compose") values.CONTAINER = replica.replica_id?.split("-")[0];
  if (Object.hasOwn(status?.services ?? {}, subject)) values.SERVICE = subject;
  else if (!replica) values.PAIR = subject.split(/[ ,]/)[0];
  return values;
}

function splitName(runsBy) {
  const [, kind, name] = runsBy?.match(/^(\w+):(.+)$/) ?? [];
  return Object.hasOwn(MARKS, kind ?? "") ? { kind, name } : {};
}

/** Returns the commands of a block of code, `{command, note}`, without those for what runs no server here. */
export function readCommands({ language, lines }, { kind }) {
  if (language !== "sh" || lines.some((line) => /<<|\\$/.test(line))) return [{ command: lines.join("\n"), note: "" }];
  const commands = lines.filter((line) => line.trim()).map((line) => {
    const [, command, note] = line.match(/^(.*?)\s+# (.*)$/) ?? [null, line, ""];
    const mark = Object.values(MARKS).find((each) => note === each || note.startsWith(`${each}: `));
    return { command, note: mark && kind ? note.slice(mark.length + 2) : note, mark };
  });
  return commands.filter(({ mark }) => !mark || !kind || mark === MARKS[kind]);
}

/** Returns a command's pieces, `{text, isGap}`. */
export function fillIn(command, values) {
  return command.split(/\b(PROXY|REPLICA|REPLICA_PORT|NAME|CONTAINER|PAIR|SERVICE|SERVER)\b/).map((text, index) => {
    if (index % 2 === 0) return { text, isGap: false };
    return PLAIN.test(values[text] ?? "") ? { text: values[text], isGap: false } : { text, isGap: true };
  });
}
