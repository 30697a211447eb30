import assert from "node:assert/strict";
import test from "node:test";

import { FEW, commonDomain, listReplicas, presentOutcome, shortName } from "../../web/status/logic/replica_list.js";

const replica = (url, level = "ok", changes = {}) => ({ url, level, names: [], version: "1", cause: null, pairs: [{ pair: "en-de" }], ...changes });
const ready = (count) => Array.from({ length: count }, (_, number) => replica(`http://r${number}.mt.example.org:8001`));
const plain = { filter: "", showsReady: false, opened: new Set() };
const DOWN = replica("http://down.mt.example.org:8001", "bad", { cause: "down", version: null });

test("many ready replicas are folded, others never", () => {
  const many = [DOWN, ...ready(FEW + 1)];
  assert.deepEqual(listReplicas(many, plain), { shown: [DOWN], ready: FEW + 1, isFolded: true });
  assert.deepEqual(listReplicas(many, { ...plain, opened: new Set([many[3].url]) }).shown, [DOWN, many[3]]);
  assert.deepEqual(listReplicas(many, { ...plain, showsReady: true }), { shown: many, ready: FEW + 1, isFolded: false });
  assert.deepEqual(listReplicas(ready(FEW), plain).shown.length, FEW);
});

test("a filter looks through all replicas, for all its words", () => {
  const many = [DOWN, ...ready(FEW + 1), replica("http://10.0.0.9:1", "ok", { version: "2", runs_by: "systemd:unit", pairs: [{ pair: "en-fr" }] })];
  const urls = (filter) => listReplicas(many, { ...plain, filter }).shown.map(({ url }) => url);
  assert.deepEqual(urls(" R3.MT "), ["http://r3.mt.example.org:8001"]);
  for (const filter of ["en-fr", "systemd 10.0", "2 ready unit"]) assert.deepEqual(urls(filter), ["http://10.0.0.9:1"], filter);
  assert.deepEqual(urls("down"), [DOWN.url]);
  assert.deepEqual(urls("nothing"), []);
});

test("names leave out the domain that all share", () => {
  const domain = commonDomain(ready(3));
  assert.equal(domain, ".mt.example.org:8001");
  assert.equal(shortName("http://r1.mt.example.org:8001", domain), "r1");
  for (const urls of [["http://10.0.1.5:1", "http://10.0.2.5:1"], ["http://a.b:1"], [], ["http://[::1]:1", "http://[::2]:1"], ["http://a.x:1", "http://b.x:2"]]) {
    assert.equal(commonDomain(urls.map((url) => replica(url))), "", urls.join());
  }
  assert.equal(shortName("http://10.0.1.5:1", ""), "10.0.1.5:1");
});

test("what a change brought about is said while it holds", () => {
  const at = (drained) => ({ replicas: [{ url: "http://a", drained }] });
  let changed = { action: "drain", url: "http://a", problem: null };
  changed = presentOutcome(changed, at(false));
  assert.ok(changed, "a status from before the change may come after it");
  changed = presentOutcome(changed, at(true));
  assert.ok(changed);
  assert.equal(presentOutcome(changed, at(false)), null, "resumed elsewhere");
  const removed = presentOutcome({ action: "remove", url: "http://a", problem: null }, { replicas: [] });
  assert.ok(removed);
  assert.equal(presentOutcome(removed, at(false)), null, "added again");
  const failed = { action: "resume", url: "http://a", problem: {} };
  assert.equal(presentOutcome(failed, at(true)), failed);
  assert.equal(presentOutcome(null, at(true)), null);
});
