import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import test from "node:test";

import { INTERFACE_LANGUAGES } from "../../web/common/strings.js";
import { createFormat } from "../../web/status/logic/format.js";
import { MAX_REASONS, SHADES, answered, latestSlot, reasonRates, requestRates, singlePoints, slotTimes } from "../../web/status/logic/traffic.js";
import { verdictOf } from "../../web/status/logic/verdict.js";

const ROOT = new URL("../../", import.meta.url);
const STATUS_PAGE = new URL("web/status/", ROOT);

test("the verdict is as bad as the worst issue", () => {
  const fresh = { level: "fresh" };
  const verdict = (status, ...levels) => verdictOf({ status, issues: levels.map((level) => ({ level })) }, fresh);
  assert.deepEqual(verdict("ok"), { text: "fleet.ok", level: "ok", isKnown: true });
  assert.deepEqual(verdict("ok", "warn"), { text: "fleet.troubled", level: "warn", isKnown: true });
  assert.deepEqual(verdict("ok", "bad", "warn"), { text: "fleet.troubled", level: "bad", isKnown: true });
  assert.deepEqual(verdict("degraded", "warn"), { text: "fleet.degraded", level: "warn", isKnown: true });
  assert.equal(verdict("degraded", "bad").level, "bad");
  assert.equal(verdict("degraded").level, "warn");
  assert.deepEqual(verdict("down"), { text: "fleet.down", level: "bad", isKnown: true });
  assert.equal(verdictOf({ status: "ok", issues: [] }, { level: "lost" }).level, "off");
  assert.equal(verdictOf(null, fresh), null);
});

test("the success rate counts what was to be answered", () => {
  const requests = { ok: [null, 5, 1, 3], refused: [null, 0, 1, 0], failed: [null, 0, 2, 1], client: [null, 9, 9, 9] };
  assert.deepEqual(answered({ requests }, 2), { count: 8, ok: 4 });
  assert.deepEqual(answered({ requests }, 4), { count: 13, ok: 9 });
  assert.deepEqual(answered({ requests: { ok: [null], refused: [null], failed: [null], client: [7] } }, 6), { count: 0, ok: 0 });
  assert.equal(createFormat("en").successRate(0.9999), "99.9%");
  assert.equal(createFormat("en").successRate(1), "100%");
});

test("the latest slot is one for all charts", () => {
  assert.equal(latestSlot({ requests: { ok: [null, 1, 0, null] } }), 2);
  assert.equal(latestSlot({ requests: { ok: [null] } }), -1);
});

test("charts have rates by class, and the most frequent reasons", () => {
  const outcomes = Object.fromEntries(Array.from({ length: 9 }, (_, number) => [`code-${number}`, [number, null]]));
  const traffic = { slot_s: 10, start_at: 1000, p50_s: [1, null], requests: { ok: [20, null], refused: [5, 1], failed: [0, 0], client: [null, null] }, outcomes, classes: { "code-8": "failed", "code-7": "refused" } };
  assert.deepEqual(slotTimes(traffic), [1005, 1015]);
  assert.deepEqual(requestRates(traffic), [
    { name: "ok", values: [2, null] },
    { name: "refused", values: [0.5, 0.1] },
  ]);
  const reasons = reasonRates(traffic);
  assert.deepEqual(reasons.map(({ name }) => name), ["code-8", "code-7", "code-6", "code-5", "code-4"]);
  assert.equal(reasons.length, MAX_REASONS);
  assert.deepEqual(reasons.slice(0, 3).map((each) => each.class), ["failed", "refused", "client"], "the last one is unknown");
  assert.ok(reasons.every(({ name, shade }) => shade === name.length % SHADES), "the name alone decides on its shade");
  assert.deepEqual(singlePoints([1, null, 2, 3, null, 4, null, 0]), [0, 5, 7]);
});

const zone = (language) =>
  new Intl.DateTimeFormat(language, { timeZoneName: "short" }).formatToParts(new Date(1e6)).find(({ type }) => type === "timeZoneName").value;

test("every interface language formats numbers and times", () => {
  for (const language of INTERFACE_LANGUAGES) {
    const format = createFormat(language);
    assert.ok(format.ago(200).length > 3);
    assert.ok(format.duration(0.25).includes("250"));
    assert.ok(format.rate(12.34).startsWith("12"));
    assert.notEqual(format.rate(0.05), format.rate(0.1));
    assert.match(format.time(1000, 1000), new RegExp(zone(language)));
    assert.ok(format.length(49).includes("49") && /2.*5/.test(format.length(125)) && !/\d.*\d.*\d/.test(format.length(7200)));
    assert.ok(/\d/.test(format.time(1000, 1000)) && /\d/.test(format.time(1000, 1e6)));
  }
});

test("no language misses a text, and every text that is used exists", () => {
  const texts = (language) => JSON.parse(readFileSync(new URL(`strings/${language}.json`, STATUS_PAGE), "utf-8"));
  const english = texts("en");
  const placeholders = (text) => (text.match(/\{\w+\}/g) ?? []).sort().join();
  assert.deepEqual(readdirSync(new URL("strings/", STATUS_PAGE)).sort(), INTERFACE_LANGUAGES.toSorted().map((each) => `${each}.json`).sort());
  for (const language of INTERFACE_LANGUAGES) {
    const found = texts(language);
    assert.deepEqual(Object.keys(found), Object.keys(english), language);
    for (const [name, text] of Object.entries(found)) {
      assert.ok(text.trim(), `${language}: ${name}`);
      assert.equal(placeholders(text), placeholders(english[name]), `${language}: ${name}`);
    }
  }
  const files = readdirSync(STATUS_PAGE, { recursive: true }).filter((name) => name.endsWith(".js"));
  const code = files.map((name) => readFileSync(new URL(name, STATUS_PAGE), "utf-8")).join("\n");
  const used = [...code.matchAll(/\btext\("([\w.-]+)"/g)].map((found) => found[1]);
  assert.ok(used.length > 50);
  for (const name of used) assert.ok(Object.hasOwn(english, name), name);
  const python = (file) => readFileSync(new URL(file, ROOT), "utf-8");
  for (const [, kind] of python("proxy/status/fleet_event.py").matchAll(/^ {4}[A-Z_]+ = "([a-z-]+)"$/gm)) assert.ok(Object.hasOwn(english, `event.${kind}`), kind);
  for (const [, code] of python("proxy/status/diagnosis.py").matchAll(/^ {4}[A-Z_]+ = "([a-z-]+)"$/gm)) assert.ok(Object.hasOwn(english, `issue.${code}`), code);
  const [, causes] = python("proxy/status/diagnosis.py").match(/^Cause = Literal\[(.+)\]$/m);
  for (const [, cause] of causes.matchAll(/"([a-z-]+)"/g)) assert.ok(Object.hasOwn(english, `cause.${cause}`), cause);
});
