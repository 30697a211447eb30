// How old what the page shows is, and its one verdict: header, title and icon of the tab say the same.
// Whatever the page says depends on this age, and on nothing that a request says of itself.

/** Seconds; the proxy says every 5 s that it lives. */
export const STALE_AFTER = 8;
export const LOST_AFTER = 15;

/** Returns what is known of an arrival: its times as the server sent them, and this machine's clocks when they came. */
export function arrival({ now, known_at: knownAt = now }, clock) {
  return { ...clock, sentAt: now, behind: Math.max(0, now - knownAt) };
}

/**
 * Returns how old the data is: what it is known from, at its sending, and the time since its arrival.
 *
 * Of the two clocks, the calendar's (`date`) and one that nobody sets (`steady`), in seconds, the one that has gone further
 * counts: one stands still while a machine sleeps, the other may be set back.
 * `at`: by this machine's calendar; `serverNow`: by the server's, until when what is shown is known, once it is lost.
 */
export function freshness(arrived, clock) {
  if (arrived === null) return { level: "none", age: 0, at: 0, serverNow: 0 };
  const passed = Math.max(0, clock.date - arrived.date, clock.steady - arrived.steady);
  const age = arrived.behind + passed;
  const level = age >= LOST_AFTER ? "lost" : age >= STALE_AFTER ? "stale" : "fresh";
  const setBack = Math.round(passed - (clock.date - arrived.date)); // whole seconds: the time that is shown must not tremble
  return { level, age, at: arrived.date - arrived.behind - setBack, serverNow: arrived.sentAt + (level === "lost" ? -arrived.behind : passed) };
}

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
