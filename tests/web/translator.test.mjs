import assert from "node:assert/strict";
import test from "node:test";

import { createStore } from "../../web/common/storage.js";
import { ProblemError, unreachable } from "../../web/common/problem.js";
import { isDone, isStale, requestBody } from "../../web/translate/logic/request_body.js";
import { MAX_RETRIES, SLOW_MS, Translator } from "../../web/translate/translator.js";

/** A clock that moves only when a test says so. */
class FakeClock {
  time = 0;
  timers = [];
  now = () => this.time;
  setTimeout = (call, wait) => {
    const timer = { call, at: this.time + wait };
    this.timers.push(timer);
    return timer;
  };
  clearTimeout = (timer) => {
    this.timers = this.timers.filter((each) => each !== timer);
  };

  async pass(milliseconds) {
    const end = this.time + milliseconds;
    for (;;) {
      const next = this.timers.filter((each) => each.at <= end).sort((one, other) => one.at - other.at)[0];
      if (!next) break;
      this.clearTimeout(next);
      this.time = next.at;
      next.call();
      await settle();
    }
    this.time = end;
    await settle();
  }
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

/** A translator with a client that answers as the test says. */
function setUp(changes = {}) {
  const clock = new FakeClock();
  const requests = [];
  const client = {
    translate: (body, signal, onPart) =>
      new Promise((resolve, reject) => {
        signal.addEventListener("abort", () => reject(new DOMException("", "AbortError")));
        requests.push({ body, signal, onPart, fail: reject, answer: (translation) => resolve({ translation, warnings: [] }) });
      }),
  };
  const store = createStore(
    { text: "", source: "en", target: "de", format: "text", terms: [], config: { max_text_chars: 20 }, isOnline: true, ...changes },
    () => {},
  );
  const results = [];
  const failures = [];
  const [onResult, onFailure] = [(result) => results.push(result), () => failures.push(store.state.failure.problem.code)];
  const translator = new Translator({ store, client, clock, onResult, onFailure });
  const type = (text) => {
    store.update({ text });
    translator.noteTyping();
  };
  return { clock, requests, store, translator, results, failures, type };
}

const busy = () => new ProblemError({ status: 503, code: "overloaded", retryAfter: 4 });

test("a text is sent at the pause, and shown as it comes", async () => {
  const { clock, requests, store, results, type } = setUp({ translation: { text: "Alt und lang", rest: "" } });
  type("Hello");
  await clock.pass(100);
  assert.equal(requests.length, 0);
  await clock.pass(200);
  assert.deepEqual(requests[0].body, { text: "Hello", source_lang: "en", target_lang: "de" });
  assert.equal(store.state.isBusy, true);
  requests[0].onPart("Neu");
  assert.deepEqual([store.state.translation.text, store.state.translation.rest], ["Neu", " und lang"]);
  requests[0].answer("Neues");
  await settle();
  assert.deepEqual([store.state.translation.text, store.state.translation.rest, store.state.isBusy], ["Neues", "", false]);
  assert.equal(results.length, 1);
});

test("a translation is that of the present text, or stale", async () => {
  const { clock, requests, store, type } = setUp();
  const seen = () => [isDone(store.state), isStale(store.state), store.state.isBusy];
  type("One");
  await clock.pass(1000);
  requests[0].onPart("Ei");
  assert.deepEqual(seen(), [false, false, true]);
  requests[0].answer("Eins");
  await settle();
  assert.deepEqual(seen(), [true, false, false]);
  type("One two");
  assert.deepEqual(seen(), [false, true, false], "from the first key on");
  await clock.pass(1000);
  assert.deepEqual(seen(), [false, true, true]);
  type("One");
  assert.deepEqual(seen(), [true, false, false], "it is there already");
  assert.equal(requests[1].signal.aborted, true);
  await clock.pass(5000);
  assert.equal(requests.length, 2);
  store.update({ target: "fr" });
  assert.deepEqual(seen(), [false, true, false], "another language is another request");
});

test("an answer is kept with the text that it answers", async () => {
  const { clock, requests, store, results, type } = setUp();
  type("One");
  await clock.pass(1000);
  type("One two");
  requests[0].answer("Eins");
  await settle();
  assert.equal(results[0].request.text, "One");
  assert.deepEqual([isDone(store.state), isStale(store.state)], [false, true]);
});

test("after some silence it is slow, however often something is sent, until a word comes", async () => {
  const { clock, requests, store, type } = setUp();
  type("One");
  await clock.pass(SLOW_MS - 100);
  type("One two");
  await clock.pass(500);
  assert.deepEqual([requests.length, store.state.isSlow], [2, true]);
  requests[1].onPart("Eins");
  assert.equal(store.state.isSlow, false);
  await clock.pass(SLOW_MS);
  assert.equal(store.state.isSlow, true, "a stream that stops");
  requests[1].answer("Eins zwei");
  await clock.pass(2 * SLOW_MS);
  assert.deepEqual([store.state.isSlow, store.state.isBusy], [false, false]);
});

test("who cancels is asked no more, and can go on", async () => {
  const { clock, requests, store, translator, type } = setUp();
  type("One");
  await clock.pass(SLOW_MS + 1000);
  translator.cancel();
  await clock.pass(60_000);
  assert.deepEqual([requests.length, requests[0].signal.aborted], [1, true]);
  assert.deepEqual([store.state.failure.problem.code, store.state.isBusy, store.state.isSlow], ["cancelled", false, false]);
  translator.goOn();
  assert.equal(requests.length, 1);
  translator.tryAgain();
  assert.equal(requests.length, 2);
});

test("what failed in an outage goes on at its end, what was refused does not", async () => {
  const { clock, requests, store, failures, translator, type } = setUp();
  type("One");
  await clock.pass(1000);
  requests[0].fail(busy());
  await settle();
  translator.goOn();
  assert.equal(requests.length, 1, "a busy server has said when");
  await clock.pass(4000);
  requests[1].fail(new ProblemError({ status: 503, code: "pair-unavailable", retryAfter: 200 }));
  await settle();
  assert.deepEqual(failures, ["overloaded", "pair-unavailable"]);
  translator.goOn();
  translator.goOn();
  assert.equal(requests.length, 3, "once");
  requests[2].answer("Eins");
  await settle();
  assert.deepEqual([store.state.failure, store.state.translation.request], [null, requestBody(store.state)]);
});

test("the request before is cancelled, and its late parts are not shown", async () => {
  const { clock, requests, store, type } = setUp();
  type("One");
  await clock.pass(1000);
  type("One two");
  await clock.pass(1000);
  assert.equal(requests.length, 2);
  assert.equal(requests[0].signal.aborted, true);
  requests[0].onPart("late");
  assert.equal(store.state.translation, undefined);
  assert.equal(store.state.isBusy, true);
});

test("what was shown before stays behind the new parts, until a failure", async () => {
  const { clock, requests, store, type } = setUp({ translation: { text: "Alt und lang", rest: "" } });
  type("One");
  await clock.pass(1000);
  requests[0].onPart("Neu");
  type("One two");
  await clock.pass(1000);
  requests[1].onPart("N");
  assert.deepEqual([store.state.translation.text, store.state.translation.rest], ["N", "eu und lang"]);
  requests[1].fail(unreachable());
  await settle();
  assert.deepEqual([store.state.translation.text, store.state.translation.rest], ["N", ""]);
});

test("an empty or too long text ends the request", async () => {
  for (const text of ["", "  ", "x".repeat(21)]) {
    const { clock, requests, store, type } = setUp();
    type("One");
    await clock.pass(1000);
    type(text);
    await clock.pass(5000);
    assert.equal(requests.length, 1);
    assert.equal(requests[0].signal.aborted, true);
    assert.equal(store.state.isBusy, false);
  }
});

test("the same request is not sent twice", async () => {
  const { clock, requests, translator, type } = setUp();
  type("One");
  await clock.pass(1000);
  requests[0].answer("Eins");
  await settle();
  translator.sendSoon();
  await clock.pass(1000);
  assert.equal(requests.length, 1);
});

test("a busy server is asked again after its seconds, a bounded number of times", async () => {
  const { clock, requests, store, type } = setUp();
  type("One");
  await clock.pass(1000);
  requests[0].fail(busy());
  await settle();
  assert.deepEqual([store.state.failure.seconds, store.state.failure.retries], [4, true]);
  await clock.pass(2000);
  assert.equal(store.state.failure.seconds, 2);
  await clock.pass(2000);
  assert.equal(requests.length, 2);
  assert.deepEqual([store.state.failure.seconds, store.state.isBusy], [0, true], "the words stay, without a countdown");
  for (const seconds of [8, 16, 32, 64]) {
    requests.at(-1).fail(busy());
    await settle();
    assert.deepEqual([store.state.failure.seconds, store.state.failure.retries], [seconds, true]);
    await clock.pass(seconds * 1000);
  }
  assert.equal(requests.length, 1 + MAX_RETRIES);
  requests.at(-1).fail(busy());
  await settle();
  assert.deepEqual([store.state.failure.seconds, store.state.failure.retries], [4, false]);
  await clock.pass(300_000);
  assert.equal(requests.length, 1 + MAX_RETRIES);
});

test("typing waits no longer than the server asks, also before a later try", async () => {
  const { clock, requests, type } = setUp();
  type("One");
  await clock.pass(1000);
  requests[0].fail(busy());
  await settle();
  await clock.pass(4000);
  requests[1].fail(busy());
  await settle();
  type("One two");
  await clock.pass(4000);
  assert.deepEqual(requests.map((each) => each.body.text), ["One", "One", "One two"]);
});

test("typing waits for a busy server, and asks it with the newest text", async () => {
  const { clock, requests, type } = setUp();
  type("One");
  await clock.pass(1000);
  requests[0].fail(busy());
  await settle();
  type("One two");
  await clock.pass(1000);
  type("One two three");
  await clock.pass(2000);
  assert.equal(requests.length, 1);
  await clock.pass(2000);
  assert.deepEqual(requests.map((each) => each.body.text), ["One", "One two three"]);
});

test("somebody who tries now does not wait", async () => {
  const { clock, requests, translator, type } = setUp();
  type("One");
  await clock.pass(1000);
  requests[0].fail(busy());
  await settle();
  translator.tryAgain();
  assert.equal(requests.length, 2);
});

test("a wait of hours is not counted down", async () => {
  const { clock, requests, store, type } = setUp();
  type("One");
  await clock.pass(1000);
  requests[0].fail(new ProblemError({ status: 429, code: "rate-limited", retryAfter: 7200 }));
  await settle();
  assert.deepEqual([store.state.failure.seconds, store.state.failure.retries], [7200, false]);
  await clock.pass(10_000);
  assert.equal(store.state.failure.seconds, 7200);
  assert.equal(requests.length, 1);
});

test("nothing is tried again by itself while the browser is offline", async () => {
  const { clock, requests, store, type } = setUp({ isOnline: false });
  type("One");
  await clock.pass(1000);
  requests[0].fail(unreachable());
  await settle();
  assert.equal(store.state.failure.retries, false);
  await clock.pass(60_000);
  assert.equal(requests.length, 1);
});

test("a key is asked for, and not again after it was declined", async () => {
  const { clock, requests, store, translator, type } = setUp();
  type("One");
  await clock.pass(1000);
  requests[0].fail(new ProblemError({ status: 403, code: "key-refused" }));
  await settle();
  assert.deepEqual([store.state.asksForKey, store.state.isKeyRefused], [true, true]);
  type("One two");
  await clock.pass(3000);
  assert.equal(requests.length, 1, "nothing is sent while the dialog is open");
  store.update({ asksForKey: false, isKeyDeclined: true });
  type("One two three");
  await clock.pass(3000);
  requests[1].fail(new ProblemError({ status: 401, code: "key-required" }));
  await settle();
  assert.equal(store.state.asksForKey, false);
  assert.equal(store.state.failure.problem.code, "key-required");
  store.update({ isKeyDeclined: false });
  translator.tryAgain();
  assert.equal(requests.length, 3);
});
