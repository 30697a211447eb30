// The one verdict of the page: its header, the tab's title and the tab's icon say the same.

const LEVELS = { ok: "ok", degraded: "warn", down: "bad" };

/**
 * Returns the verdict, or null before the first status: a name of a text, a level, and whether it is known now.
 * @param {object | null} status
 * @param {ReturnType<import("./freshness.js").freshness>} fresh
 */
export function verdictOf(status, fresh) {
  if (status === null) return null;
  if (fresh.level === "lost") return { text: "fleet.unknown", level: "off", isKnown: false };
  return { text: `fleet.${status.status}`, level: LEVELS[status.status], isKnown: true };
}

/**
 * Returns the title of the tab, and the level of its icon.
 * @param {{verdict: object | null, issueCount: number, connection: string, title: string}} parts the verdict with its words
 */
export function tabOf({ verdict, issueCount, connection, title }) {
  if (verdict === null) return connection === "lost" ? { title: `? ${title}`, icon: "off" } : { title, icon: null };
  const mark = verdict.isKnown ? (issueCount ? `(${issueCount}) ` : "") : "? ";
  return { title: `${mark}${verdict.words} · ${title}`, icon: verdict.level };
}
