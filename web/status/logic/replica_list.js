// The list of replicas: those with trouble, and the ready ones folded.

/** Ready replicas that are shown without asking. */
export const FEW = 12;

/** Returns what is shown of the replicas, `{shown, ready, isFolded}`; a filter looks through all. */
export function listReplicas(replicas, { filter, showsReady, opened }) {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length > 0) return { shown: replicas.filter((each) => words.every((word) => textOf(each).includes(word))), ready: 0 };
  const ready = replicas.filter(({ level }) => level === "ok").length;
  const isFolded = ready > FEW && !showsReady;
  return { shown: isFolded ? replicas.filter(({ level, url }) => level !== "ok" || opened.has(url)) : replicas, ready, isFolded };
}

function textOf({ url, names, version, runs_by: runsBy, cause, pairs }) {
  return [url, ...names, version, runsBy, cause ?? "ready", ...pairs.map(({ pair }) => pair)].join(" ").toLowerCase();
}

/** Returns the end that all hosts share, such as `.example.org:8001`, or "". */
export function commonDomain(replicas) {
  const hosts = replicas.map(({ url }) => shortName(url, ""));
  const ends = hosts.length > 1 ? [...hosts[0].matchAll(/\./g)].map(({ index }) => hosts[0].slice(index)) : [];
  return ends.find((end) => /[a-z]/i.test(end) && hosts.every((host) => host.endsWith(end))) ?? "";
}

/** Returns a URL without its scheme and the common end. */
export function shortName(url, domain) {
  return url.replace(/^http:\/\//, "").slice(0, -domain.length || undefined);
}

/** Returns the outcome of a change while it holds: once it was seen, and is seen no longer, it is over. */
export function presentOutcome(changed, { replicas }) {
  if (!changed || changed.problem) return changed;
  const replica = replicas.find(({ url }) => url === changed.url);
  const holds = changed.action === "remove" ? !replica : replica?.drained === (changed.action === "drain");
  if (holds) return { ...changed, wasSeen: true };
  return changed.wasSeen ? null : changed;
}
