import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { LOST_AFTER, STALE_AFTER, arrival, freshness, tabOf, verdictOf } from "../../web/status/logic/verdict.js";
import { SILENCE_MS } from "../../web/status/status_client.js";

const CLOCK = { date: 5000, steady: 10 };
const after = (seconds, other = seconds) => ({ date: CLOCK.date + seconds, steady: CLOCK.steady + other });
const ok = { status: "ok", issues: [] };

test("what is shown ages from its arrival", () => {
  const arrived = arrival({ now: 900, known_at: 900 }, CLOCK);
  const levels = [0, STALE_AFTER - 0.1, STALE_AFTER, LOST_AFTER - 0.1, LOST_AFTER, 1e6].map((seconds) => freshness(arrived, after(seconds)).level);
  assert.deepEqual(levels, ["fresh", "fresh", "stale", "stale", "lost", "lost"]);
  assert.deepEqual(freshness(arrived, after(7)), { level: "fresh", age: 7, at: 5000, serverNow: 907 });
  assert.equal(freshness(null, CLOCK).level, "none");
});

test("a message just come is as old as what it is known from", () => {
  const arrived = arrival({ now: 900, known_at: 880 }, CLOCK);
  assert.deepEqual(freshness(arrived, after(1)), { level: "lost", age: 21, at: 4980, serverNow: 880 });
  assert.equal(freshness(arrival({ now: 900 }, CLOCK), after(1)).age, 1, "a proxy that does not say it");
});

test("what is lost grows no older: ages end where it is known", () => {
  const arrived = arrival({ now: 900, known_at: 898 }, CLOCK);
  const now = (seconds) => freshness(arrived, after(seconds)).serverNow;
  assert.deepEqual([now(3), now(LOST_AFTER - 2.1), now(LOST_AFTER - 2), now(1e6)], [903, 912.9, 898, 898]);
});

test("neither a sleeping machine nor a clock set back makes it young", () => {
  const arrived = arrival({ now: 900, known_at: 900 }, CLOCK);
  assert.equal(freshness(arrived, after(3600, 0)).level, "lost");
  assert.equal(freshness(arrived, after(-3600, 20)).level, "lost");
});

test("a stream that falls silent is given up before its status is lost", () => {
  assert.ok(SILENCE_MS / 1000 < LOST_AFTER);
  const [, life] = readFileSync(new URL("../../proxy/status/feed.py", import.meta.url), "utf-8").match(/^LIFE_SECONDS: Final = ([\d.]+)$/m);
  assert.ok(Number(life) < SILENCE_MS / 1000);
});

test("no verdict outlives its data", () => {
  const fresh = (level) => ({ level });
  assert.deepEqual(verdictOf(ok, fresh("fresh")), { text: "fleet.ok", level: "ok", isKnown: true });
  assert.deepEqual(verdictOf(ok, fresh("stale")), { text: "fleet.ok", level: "ok", isKnown: true });
  for (const status of ["ok", "degraded", "down"]) assert.deepEqual(verdictOf({ status, issues: [] }, fresh("lost")), { text: "fleet.unknown", level: "off", isKnown: false });
  assert.equal(verdictOf(null, fresh("none")), null);
});

test("title and icon of the tab say the verdict too", () => {
  const tab = (verdict, issueCount, connection = "live") => tabOf({ verdict, issueCount, connection, title: "Status" });
  assert.deepEqual(tab({ words: "All is well", level: "ok", isKnown: true }, 0), { title: "All is well · Status", icon: "ok" });
  assert.deepEqual(tab({ words: "Down", level: "bad", isKnown: true }, 3), { title: "(3) Down · Status", icon: "bad" });
  assert.deepEqual(tab({ words: "Unknown", level: "off", isKnown: false }, 3), { title: "? Unknown · Status", icon: "off" });
  assert.deepEqual(tab(null, 0, "connecting"), { title: "Status", icon: null });
  assert.deepEqual(tab(null, 0, "lost"), { title: "? Status", icon: "off" });
});
