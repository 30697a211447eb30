import assert from "node:assert/strict";
import test from "node:test";

import { ANSWER_MS, CHANGE_MS, FIRST_EVENT_MS, POLL_MS, SILENCE_MS, StatusClient } from "../../web/status/status_client.js";

/** A client with answers by hand, and a clock that passes by hand. */
class Setting {
  requests = [];
  statuses = [];
  alive = [];
  states = [];
  timers = new Map();
  token = "";
  #number = 0;

  constructor(answer) {
    globalThis.fetch = (url, options) => {
      this.requests.push({ path: new URL(url).pathname + new URL(url).search, ...options });
      return answer(new URL(url).pathname, options, this.requests.length);
    };
    this.client = new StatusClient({
      base: "http://proxy/mt/status",
      token: () => this.token,
      clock: { setTimeout: (call, wait) => this.#add(call, wait), clearTimeout: (timer) => this.timers.delete(timer) },
      onStatus: (status) => this.statuses.push(status),
      onAlive: (times) => this.alive.push(times),
      onState: (state) => this.states.at(-1) !== state && this.states.push(state),
    });
  }

  #add(call, wait) {
    this.timers.set(++this.#number, { call, wait });
    return this.#number;
  }

  /** Lets the timers of this length end. */
  pass(wait) {
    for (const [number, timer] of this.timers) {
      if (timer.wait !== wait) continue;
      this.timers.delete(number);
      timer.call();
    }
  }

  /** Waits for a timer of this length, and lets it end. */
  async passed(wait) {
    await this.until(() => [...this.timers.values()].some((timer) => timer.wait === wait));
    this.pass(wait);
  }

  async until(condition) {
    for (let turn = 0; turn < 1000 && !condition(); turn += 1) await new Promise((resolve) => setImmediate(resolve));
    assert.ok(condition());
  }
}

function stream(signal, ...events) {
  const body = new ReadableStream({
    start(controller) {
      for (const event of events) controller.enqueue(new TextEncoder().encode(`event: status\ndata: ${JSON.stringify(event)}\n\n`));
      signal.addEventListener("abort", () => controller.error(new DOMException("aborted", "AbortError")));
    },
  });
  return new Response(body, { headers: { "Content-Type": "text/event-stream" } });
}

/** An answer that never comes; like a hung proxy's, it ends with its request alone. */
const hang = (signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(new DOMException("aborted", "AbortError"))));

const problem = (status, code) => Promise.resolve(Response.json({ code }, { status }));

test("the stream is followed with the token in a header", async () => {
  const setting = new Setting((_, { signal }) => Promise.resolve(stream(signal, { number: 1 }, { number: 2 })));
  setting.token = "secret";
  setting.client.start();
  await setting.until(() => setting.statuses.length === 2);
  assert.deepEqual(setting.states, ["live"]);
  assert.equal(setting.requests[0].path, "/mt/status/stream");
  assert.equal(setting.requests[0].headers.Authorization, "Bearer secret");
});

test("a stream that something in between holds back is polled", async () => {
  const setting = new Setting((path, { signal }) => Promise.resolve(path.endsWith("stream") ? stream(signal) : Response.json({ number: 3 })));
  setting.client.start();
  await setting.until(() => [...setting.timers.values()].some(({ wait }) => wait === FIRST_EVENT_MS));
  setting.pass(FIRST_EVENT_MS);
  await setting.until(() => setting.statuses.length === 1);
  assert.deepEqual(setting.states, ["polling"]);
  await setting.until(() => [...setting.timers.values()].some(({ wait }) => wait === POLL_MS));
  setting.pass(POLL_MS);
  await setting.until(() => setting.statuses.length === 2);
  assert.equal(setting.requests.at(-1).path, "/mt/status/data");
});

test("a proxy with too many viewers is polled", async () => {
  const setting = new Setting((path) => (path.endsWith("stream") ? problem(503, "overloaded") : Promise.resolve(Response.json({ number: 1 }))));
  setting.client.start();
  await setting.until(() => setting.statuses.length === 1);
  assert.deepEqual(setting.states, ["polling"]);
});

test("a silent stream is opened again", async () => {
  const setting = new Setting((_, { signal }) => Promise.resolve(stream(signal, { number: 1 })));
  setting.client.start();
  await setting.until(() => setting.statuses.length === 1 && [...setting.timers.values()].some(({ wait }) => wait === SILENCE_MS));
  setting.pass(SILENCE_MS);
  await setting.until(() => [...setting.timers.values()].some(({ wait }) => wait === 500));
  setting.pass(500);
  await setting.until(() => setting.statuses.length === 2);
  assert.deepEqual(setting.states, ["live", "lost", "live"]);
});

test("a stream that always ends is not opened again at once", async () => {
  const ended = () => new Response('event: status\ndata: {"number": 1}\n\n', { headers: { "Content-Type": "text/event-stream" } });
  const setting = new Setting(() => Promise.resolve(ended()));
  setting.client.start();
  for (const count of [1, 2, 3]) {
    await setting.until(() => [...setting.timers.values()].some(({ wait }) => wait === 500));
    assert.deepEqual([setting.requests.length, setting.statuses.length], [count, count]);
    setting.pass(500);
  }
  assert.deepEqual(setting.states, ["live"]);
});

test("requests and pauses leave nothing behind at their signal", async (context) => {
  let listeners = 0;
  for (const [name, more] of [["addEventListener", 1], ["removeEventListener", -1]]) {
    const original = EventTarget.prototype[name];
    context.mock.method(EventTarget.prototype, name, function (...parts) {
      if (this instanceof AbortSignal && !parts[2]?.once) listeners += more;
      return original.apply(this, parts);
    });
  }
  const setting = new Setting((path) => (path.endsWith("stream") ? problem(503, "overloaded") : Promise.resolve(Response.json({ number: 1 }))));
  setting.client.start();
  for (const count of [1, 2, 3]) {
    await setting.until(() => setting.statuses.length === count && [...setting.timers.values()].some(({ wait }) => wait === POLL_MS));
    assert.deepEqual([listeners, setting.timers.size], [1, 1]);
    setting.pass(POLL_MS);
  }
});

test("a sign of life keeps the stream, and is no status", async () => {
  const alive = 'event: alive\ndata: {"now": 7, "known_at": 6}\n\n';
  const setting = new Setting((_, { signal }) => {
    const { body } = stream(signal, { number: 1 });
    return Promise.resolve(new Response(body.pipeThrough(new TransformStream({ transform: (piece, to) => { to.enqueue(piece); to.enqueue(new TextEncoder().encode(alive)); } }))));
  });
  setting.client.start();
  await setting.until(() => setting.alive.length === 1);
  assert.deepEqual([setting.alive, setting.statuses, setting.states], [[{ now: 7, known_at: 6 }], [{ number: 1 }], ["live"]]);
});

test("a proxy that hangs is lost, and asked again", async () => {
  let hangs = true;
  const setting = new Setting((path, { signal }) => (hangs ? hang(signal) : Promise.resolve(stream(signal, { number: 1 }))));
  setting.client.start();
  await setting.passed(FIRST_EVENT_MS);
  await setting.passed(ANSWER_MS);
  await setting.until(() => setting.states.at(-1) === "lost");
  hangs = false;
  await setting.passed(500);
  await setting.until(() => setting.statuses.length === 1);
  assert.deepEqual(setting.states, ["lost", "live"]);
});

test("a proxy that hung and answers a poll first is followed by its stream again", async () => {
  let hangs = true;
  const setting = new Setting((path, { signal }) => {
    if (hangs) return hang(signal);
    return Promise.resolve(path.endsWith("stream") ? stream(signal, { number: 2 }) : Response.json({ number: 1 }));
  });
  setting.client.start();
  await setting.passed(FIRST_EVENT_MS);
  await setting.passed(ANSWER_MS);
  await setting.passed(500);
  await setting.until(() => setting.requests.length === 3);
  await setting.until(() => [...setting.timers.values()].some(({ wait }) => wait === FIRST_EVENT_MS));
  hangs = false;
  setting.pass(FIRST_EVENT_MS);
  await setting.passed(POLL_MS);
  await setting.until(() => setting.statuses.length === 2);
  assert.deepEqual(setting.states, ["lost", "polling", "live"]);
});

test("an answer whose rest does not come has a time limit too", async () => {
  const setting = new Setting((path, { signal }) => (path.endsWith("stream") ? problem(503, "overloaded") : Promise.resolve(stream(signal, {}))));
  setting.client.start();
  await setting.passed(ANSWER_MS);
  await setting.until(() => setting.states.at(-1) === "lost");
});

test("a command that hangs ends as unreachable", async () => {
  const setting = new Setting((_, { signal }) => hang(signal));
  const change = setting.client.change("drain", "http://a:1");
  await setting.passed(CHANGE_MS);
  await assert.rejects(change, { code: "unreachable" });
});

test("a refused token stops until there is another", async () => {
  const setting = new Setting((_, { headers, signal }) => (headers.Authorization ? Promise.resolve(stream(signal, { number: 1 })) : problem(401, "key-required")));
  setting.client.start();
  await setting.until(() => setting.states.length === 1);
  assert.deepEqual([setting.states, setting.timers.size], [["locked"], 0]);
  setting.token = "secret";
  setting.client.start();
  await setting.until(() => setting.statuses.length === 1);
  assert.deepEqual(setting.states, ["locked", "live"]);
});

test("a proxy that is away is tried again, and shown as lost", async () => {
  const setting = new Setting((_, { signal }, number) => (number < 3 ? Promise.reject(new TypeError("refused")) : Promise.resolve(stream(signal, { number }))));
  setting.client.start();
  for (const wait of [500, 1000]) {
    await setting.until(() => [...setting.timers.values()].some((timer) => timer.wait === wait));
    setting.pass(wait);
  }
  await setting.until(() => setting.statuses.length === 1);
  assert.deepEqual(setting.states, ["lost", "live"]);
});

test("changes are sent as operators' commands", async () => {
  const setting = new Setting((path) => (path.endsWith("resume") ? problem(403, "key-refused") : Promise.resolve(Response.json({}))));
  setting.token = "secret";
  await setting.client.change("drain", "http://a:1");
  await setting.client.change("remove", "http://a:1");
  await assert.rejects(setting.client.change("resume", "http://a:1"), { status: 403, code: "key-refused" });
  const sent = setting.requests.map(({ path, method, body }) => [method, path, body]);
  assert.deepEqual(sent, [
    ["POST", "/mt/fleet/replicas/drain", '{"url":"http://a:1"}'],
    ["DELETE", "/mt/fleet/replicas?url=http%3A%2F%2Fa%3A1", undefined],
    ["POST", "/mt/fleet/replicas/resume", '{"url":"http://a:1"}'],
  ]);
});
