import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import test from "node:test";

import { INTERFACE_LANGUAGES } from "../../web/common/strings.js";
import { createFormat } from "../../web/status/logic/format.js";
import { MAX_NAMED_PAIRS, findIssues } from "../../web/status/logic/issues.js";
import { MAX_REASONS, latest, reasonRates, requestRates, singlePoints, slotTimes } from "../../web/status/logic/traffic.js";

const ROOT = new URL("../../", import.meta.url);
const STATUS_PAGE = new URL("web/status/", ROOT);
const FINE = { redis: { up: true, error: null }, redis_runbook: null, pairs: [], replicas: [], services: {} };

const pair = (name, level, ready) => ({ pair: name, level, ready, runbook: "pair-unavailable" });
const replica = (url, level, cause) => ({ url, level, cause, why: "refused", runbook: "replica-down" });

test("a fleet without trouble has no issues", () => {
  const status = { ...FINE, pairs: [pair("en-de", "ok", 1)], replicas: [replica("http://a", "ok", null), replica("http://b", "off", "drained")] };
  assert.deepEqual(findIssues(status), []);
});

test("the worst issues come first, and pairs are one", () => {
  const status = {
    redis: { up: false, error: "refused" },
    redis_runbook: "redis-away",
    pairs: [pair("en-de", "bad", 0), pair("en-fr", "bad", 1), pair("en-ja", "bad", 0), pair("de-en", "warn", 1)],
    replicas: [replica("http://a", "warn", "starting"), replica("http://b", "bad", "down")],
    services: { de: { ready: 1, expected: 2, why: "1 of 2" }, fr: { ready: 1, expected: 1, why: null }, es: { ready: 1, expected: null, why: "no number stated" } },
  };
  const found = findIssues(status).map(({ level, kind, subject }) => [level, kind, subject]);
  assert.deepEqual(found, [
    ["bad", "pair", "en-de, en-ja"],
    ["bad", "pair-failing", "en-fr"],
    ["bad", "down", "http://b"],
    ["warn", "redis", ""],
    ["warn", "starting", "http://a"],
    ["warn", "service", "de"],
  ]);
});

test("an issue names a bounded number of pairs", () => {
  const pairs = Array.from({ length: 300 }, (_, number) => pair(`en-x${number}`, "bad", 0));
  const [issue] = findIssues({ ...FINE, pairs });
  assert.equal(issue.subject.split(", ").length, MAX_NAMED_PAIRS + 1);
});

test("charts have rates by class, and the most frequent reasons", () => {
  const outcomes = Object.fromEntries(Array.from({ length: 9 }, (_, number) => [`code-${number}`, [number, null]]));
  const traffic = { slot_s: 10, start_at: 1000, p50_s: [1, null], requests: { ok: [20, null], refused: [5, 1], failed: [0, 0], client: [null, null] }, outcomes };
  assert.deepEqual(slotTimes(traffic), [1005, 1015]);
  assert.deepEqual(requestRates(traffic), [
    { name: "ok", values: [2, null] },
    { name: "refused", values: [0.5, 0.1] },
  ]);
  const reasons = reasonRates(traffic);
  assert.deepEqual(reasons.map(({ name }) => name), ["code-8", "code-7", "code-6", "code-5", "code-4"]);
  assert.equal(reasons.length, MAX_REASONS);
  assert.equal(latest([1, 2, null]), 2);
  assert.equal(latest([null]), null);
  assert.deepEqual(singlePoints([1, null, 2, 3, null, 4, null, 0]), [0, 5, 7]);
});

test("every interface language formats numbers and times", () => {
  for (const language of Object.keys(INTERFACE_LANGUAGES)) {
    const format = createFormat(language);
    assert.ok(format.ago(200).length > 3);
    assert.ok(format.duration(0.25).includes("250"));
    assert.ok(format.rate(12.34).startsWith("12"));
    assert.notEqual(format.rate(0.05), format.rate(0.1));
    assert.ok(/\d/.test(format.time(1000, 1000)) && /\d/.test(format.time(1000, 1e6)));
  }
});

test("no language misses a text, and every text that is used exists", () => {
  const texts = (language) => JSON.parse(readFileSync(new URL(`strings/${language}.json`, STATUS_PAGE), "utf-8"));
  const english = texts("en");
  const placeholders = (text) => (text.match(/\{\w+\}/g) ?? []).sort().join();
  assert.deepEqual(readdirSync(new URL("strings/", STATUS_PAGE)).sort(), Object.keys(INTERFACE_LANGUAGES).map((each) => `${each}.json`).sort());
  for (const language of Object.keys(INTERFACE_LANGUAGES)) {
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
  const [, causes] = python("proxy/api/views/diagnosis.py").match(/^Cause = Literal\[(.+)\]$/m);
  for (const [, cause] of causes.matchAll(/"([a-z-]+)"/g)) assert.ok(Object.hasOwn(english, `cause.${cause}`), cause);
});
