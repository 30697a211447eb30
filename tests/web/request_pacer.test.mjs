import assert from "node:assert/strict";
import test from "node:test";

import { RequestPacer, TYPING_INTERVAL_MS } from "../../web/translate/logic/request_pacer.js";

/** Types with these pauses between keys and returns when requests were sent. */
function requestsOf(gaps, start = 1_000_000) {
  const pacer = new RequestPacer();
  const sent = [];
  let now = start;
  let due = Infinity;
  for (const gap of [0, ...gaps, Infinity]) {
    const next = now + gap;
    while (due <= next && due !== Infinity) {
      sent.push(due - start);
      pacer.noteRequest(due, true);
      due = Infinity; // nothing has changed since
    }
    if (gap === Infinity) return { sent, last: now - start };
    now = next;
    pacer.noteKey(now);
    due = pacer.dueAt(now);
    if (due <= now) {
      sent.push(now - start);
      pacer.noteRequest(now, true);
      due = Infinity;
    }
  }
}

test("sixty characters at five keys a second cost at most eight requests", () => {
  const { sent, last } = requestsOf(Array(59).fill(200));
  assert.ok(sent.length <= 7, String(sent));
  assert.ok(sent.at(-1) > last, "the whole text is sent");
});

test("the pause after the last key is short", () => {
  const { sent, last } = requestsOf(Array(54).fill(200));
  assert.ok(sent.at(-1) - last <= 260, String(sent.at(-1) - last));
});

test("uneven typing stays within the budget", () => {
  for (const gaps of [[150, 250], [100, 300], [50, 50, 500], [190, 210, 230, 170], [20, 380]]) {
    const all = Array.from({ length: 59 }, (_, index) => gaps[index % gaps.length]);
    const seconds = all.reduce((sum, gap) => sum + gap, 0) / 1000;
    const { sent } = requestsOf(all);
    assert.ok(sent.length <= seconds / 2 + 3, `${gaps}: ${sent.length} in ${seconds} s`);
  }
});

test("somebody who stops after each key is bounded too", () => {
  const { sent } = requestsOf(Array(60).fill(1000));
  assert.ok(sent.length <= 45, String(sent.length));
});

test("one sentence after another is sent at each pause", () => {
  const gaps = Array.from({ length: 10 }, () => [...Array(24).fill(200), 800]).flat();
  const { sent } = requestsOf(gaps);
  const ends = Array.from({ length: 10 }, (_, index) => index * 5600 + 4800);
  for (const end of ends) assert.ok(sent.some((at) => at > end && at <= end + 260), `${end}: ${sent}`);
});

test("long typing without a pause sends every two seconds", () => {
  const { sent } = requestsOf(Array(600).fill(100));
  for (let index = 1; index < sent.length - 1; index += 1) {
    assert.ok(sent[index] - sent[index - 1] >= TYPING_INTERVAL_MS, String(sent));
  }
  assert.ok(sent.length >= 28);
});

test("a single key is sent after a pause", () => {
  assert.deepEqual(requestsOf([]).sent, [220]);
});

test("requests that nobody typed cost nothing", () => {
  const pacer = new RequestPacer();
  for (let count = 0; count < 9; count += 1) pacer.noteRequest(1000, false);
  pacer.noteKey(1000);
  assert.equal(pacer.dueAt(1000), 1220);
});
