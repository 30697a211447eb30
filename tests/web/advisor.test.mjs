import assert from "node:assert/strict";
import test from "node:test";

import { createStore } from "../../web/common/storage.js";
import { ProblemError } from "../../web/common/problem.js";
import { Advisor, REST_MS } from "../../web/translate/advisor.js";

const settle = () => new Promise((resolve) => setImmediate(resolve));
const ENGLISH = "Where is the nearest station, please?";

/** An advisor whose answers come, and whose time passes, by hand. */
function setUp(changes = {}) {
  const timers = new Map();
  const asked = [];
  const ask = (body, signal) =>
    new Promise((resolve, reject) => {
      signal.addEventListener("abort", () => reject(new DOMException("", "AbortError")));
      asked.push({ body, signal, resolve, reject });
    });
  const state = { text: "", source: "de", target: "en", format: "text", terms: [], config: { keys: false }, key: "", looksLike: null, others: null };
  const store = createStore({ ...state, ...changes }, (now) => advisor.note(now));
  const advisor = new Advisor({
    store,
    client: { detect: ask, translateAgain: (body, alternatives, signal) => ask({ ...body, alternatives }, signal) },
    clock: {
      setTimeout: (call, wait) => {
        const timer = { call, wait };
        timers.set(timer, timer);
        return timer;
      },
      clearTimeout: (timer) => timers.delete(timer),
    },
  });
  const type = async (text) => {
    store.update({ text });
    await settle();
  };
  /** Lets the timer of this length end. */
  const pass = (wait) => {
    const timer = [...timers.values()].find((each) => each.wait === wait);
    timers.delete(timer);
    timer?.call();
    return settle();
  };
  const answer = async (value) => {
    asked.at(-1).resolve(value);
    await settle();
  };
  return { advisor, answer, asked, pass, store, timers, type };
}

const sure = (lang, confidence = 0.9) => ({ lang, confidence });

test("a text that rests is looked at once, and another language is said", async () => {
  const { answer, asked, pass, store, timers, type } = setUp();
  await type(ENGLISH.slice(0, 30));
  await type(ENGLISH);
  assert.deepEqual([asked.length, timers.size], [0, 1]);
  await pass(REST_MS);
  assert.deepEqual(asked.map(({ body }) => body), [ENGLISH]);
  await answer({ detected: sure("en"), candidates: [] });
  assert.deepEqual(store.state.looksLike, { lang: "en", isServed: true });
  store.update({ isBusy: true });
  await settle();
  assert.deepEqual([store.state.looksLike.lang, timers.size], ["en", 0], "the same text is not looked at again");
  await type(`${ENGLISH} And`);
  assert.equal(store.state.looksLike, null);
});

test("the language that is not served comes first", async () => {
  const { answer, pass, store, type } = setUp({ source: "es" });
  await type("مرحبا بكم في المتحف الوطني الجديد");
  await pass(REST_MS);
  await answer({ detected: null, candidates: [], unserved: sure("ar") });
  assert.deepEqual(store.state.looksLike, { lang: "ar", isServed: false });
});

test("the chosen language, and one that is not sure, are not said", async () => {
  for (const found of [{ detected: sure("de-AT") }, { detected: sure("en", 0.79) }, { detected: null }]) {
    const { answer, pass, store, type } = setUp();
    await type(ENGLISH);
    await pass(REST_MS);
    await answer({ candidates: [], ...found });
    assert.equal(store.state.looksLike, null);
  }
});

test("few letters, markup, a detected language and a page without its key are not looked at", async () => {
  const cases = [{ text: "1234567890 1234567890 Hi" }, { format: "html" }, { source: "auto" }, { config: { keys: true } }];
  for (const changes of cases) {
    const { timers, store } = setUp();
    store.update({ text: ENGLISH, ...changes });
    await settle();
    assert.equal(timers.size, 0, JSON.stringify(changes));
  }
});

test("a newer text ends the question about the older one, and a failure is no word", async () => {
  const { asked, pass, store, type } = setUp();
  await type(ENGLISH);
  await pass(REST_MS);
  await type(`${ENGLISH} And then?`);
  assert.equal(asked[0].signal.aborted, true);
  await pass(REST_MS);
  asked[1].reject(new ProblemError({ status: 429, code: "rate-limited" }));
  await settle();
  assert.equal(store.state.looksLike, null);
});

test("a long text is looked at by its beginning, in whole characters", async () => {
  const { asked, pass, type } = setUp();
  await type("a".repeat(199) + "😀".repeat(1000));
  await pass(REST_MS);
  assert.equal(asked[0].body, "a".repeat(199));
});

test("other translations come for the text that asked, and the newest question counts", async () => {
  const { advisor, asked, store } = setUp({ text: "Hallo" });
  advisor.askOthers();
  assert.deepEqual(store.state.others, { request: { text: "Hallo", source_lang: "de", target_lang: "en" }, texts: null });
  advisor.askOthers();
  assert.equal(asked[0].signal.aborted, true);
  assert.equal(asked[1].body.alternatives, 3);
  asked[1].resolve({ alternatives: ["Hi"] });
  await settle();
  assert.deepEqual(store.state.others.texts, ["Hi"]);
});

test("other translations that do not come say why", async () => {
  const { advisor, asked, pass, store } = setUp({ text: "Hallo" });
  advisor.askOthers();
  asked[0].reject(new ProblemError({ status: 503, code: "overloaded" }));
  await settle();
  assert.deepEqual([store.state.others.texts, store.state.others.problem.code], [[], "overloaded"]);
  advisor.askOthers();
  await pass(30_000);
  assert.equal(store.state.others.problem.code, "unreachable");
});
