// The one verdict of the page: its header, the tab's title and the tab's icon say the same.

/** Returns the verdict, as bad as the worst issue, or null before the first status: a name of a text, a level, and whether it is known now. */
export function verdictOf(status, fresh) {
  if (status === null) return null;
  if (fresh.level === "lost") return { text: "fleet.unknown", level: "off", isKnown: false };
  const isBad = status.status === "down" || status.issues.some(({ level }) => level === "bad");
  const isFine = status.status === "ok" && status.issues.length === 0;
  const name = status.status === "ok" && !isFine ? "troubled" : status.status;
  return { text: `fleet.${name}`, level: isBad ? "bad" : isFine ? "ok" : "warn", isKnown: true };
}

/** Returns the title of the tab, and the level of its icon, for a verdict with its words. */
export function tabOf({ verdict, issueCount, connection, title }) {
  if (verdict === null) return connection === "lost" ? { title: `? ${title}`, icon: "off" } : { title, icon: null };
  const mark = verdict.isKnown ? (issueCount ? `(${issueCount}) ` : "") : "? ";
  return { title: `${mark}${verdict.words} · ${title}`, icon: verdict.level };
}
