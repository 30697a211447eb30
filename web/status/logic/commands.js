// Commands of runbooks, filled in for one replica, pair or service.

/** What runs API servers, and how comments of commands name it. */
const MARKS = { compose: "compose", systemd: "systemd", launcher: "make up", kubernetes: "kubernetes" };
/** What may stand in a shell's command; servers report names, and may be anybody's. */
const PLAIN = /^\w[\w@.:/[\]-]*$/;

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
  if (replica) Object.assign(values, { REPLICA: subject, NAME: splitName(replica.runs_by).name });
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
  return command.split(/\b(PROXY|REPLICA|NAME|CONTAINER|PAIR|SERVICE)\b/).map((text, index) => {
    if (index % 2 === 0) return { text, isGap: false };
    return PLAIN.test(values[text] ?? "") ? { text: values[text], isGap: false } : { text, isGap: true };
  });
}
