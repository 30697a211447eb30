import assert from "node:assert/strict";
import test from "node:test";

import { createStore } from "../../web/common/storage.js";
import { ProblemError, unreachable } from "../../web/common/problem.js";
import { FAILING_MS, LanguageWatch, LIMIT_MS, USUAL_MS } from "../../web/translate/language_watch.js";

const settle = () => new Promise((resolve) => setImmediate(resolve));
const fleet = (ready) => [{ lang: "en", targets: [{ lang: "de", ready, how: "direct", pivot: null }] }];

/** A watch whose list comes, and whose time passes, by hand. */
function setUp(changes = {}) {
  const timers = new Map();
  const asked = [];
  const seen = [];
  const state = { languages: [], languagesLoaded: false, languagesProblem: null, source: "en", target: "de", failure: null, interfaceLanguage: "en" };
  const store = createStore({ ...state, ...changes }, () => {});
  const view = { isVisible: true };
  const watch = new LanguageWatch({
    store,
    client: {
      languages: (signal) =>
        new Promise((resolve, reject) => {
          signal.addEventListener("abort", () => reject(new DOMException("", "AbortError")));
          asked.push({ resolve, reject, signal });
        }),
    },
    clock: {
      setTimeout: (call, wait) => {
        const timer = { call, wait };
        timers.set(timer, timer);
        return timer;
      },
      clearTimeout: (timer) => timers.delete(timer),
    },
    preferred: ["de"],
    isVisible: () => view.isVisible,
    onFirstTarget: () => seen.push("first"),
    onServed: () => seen.push("served"),
  });
  const waits = () => [...timers.values()].map(({ wait }) => wait);
  /** Lets the timer of this length end. */
  const pass = (wait) => {
    const timer = [...timers.values()].find((each) => each.wait === wait);
    timers.delete(timer);
    timer.call();
    return settle();
  };
  const answer = async (languages) => {
    asked.at(-1).resolve(languages);
    await settle();
  };
  const fail = async (problem) => {
    asked.at(-1).reject(problem);
    await settle();
  };
  return { answer, asked, fail, pass, seen, store, view, waits, watch };
}

test("a list that comes is asked for again after a while, and chooses a first target", async () => {
  const { answer, asked, pass, seen, store, waits, watch } = setUp({ target: "" });
  watch.refresh();
  await answer(fleet(true));
  assert.deepEqual([store.state.target, store.state.languagesProblem, waits()], ["de", null, [USUAL_MS]]);
  assert.deepEqual(seen, ["first", "served"]);
  await pass(USUAL_MS);
  assert.equal(asked.length, 2);
});

test("a list that fails says why, and is asked for soon", async () => {
  const { answer, fail, pass, seen, store, waits, watch } = setUp();
  watch.refresh();
  await fail(new ProblemError({ status: 502, code: "unknown" }));
  assert.deepEqual([store.state.languagesProblem.status, waits()], [502, [FAILING_MS]]);
  await pass(FAILING_MS);
  await fail(unreachable());
  assert.equal(store.state.languagesProblem.code, "unreachable");
  await pass(FAILING_MS);
  await answer([]);
  assert.deepEqual([store.state.languagesProblem, waits()], [null, [FAILING_MS]], "a fleet without languages");
  assert.deepEqual(seen, []);
});

test("a server that hangs is not waited for", async () => {
  const { asked, pass, store, waits, watch } = setUp();
  watch.refresh();
  assert.deepEqual(waits(), [LIMIT_MS]);
  await pass(LIMIT_MS);
  assert.deepEqual([asked[0].signal.aborted, store.state.languagesProblem.code, waits()], [true, "unreachable", [FAILING_MS]]);
});

test("a pair that is served again is said once, as soon as the list says so", async () => {
  const { answer, pass, seen, store, waits, watch } = setUp();
  watch.refresh();
  await answer(fleet(true));
  store.update({ failure: { problem: new ProblemError({ status: 503, code: "pair-unavailable", retryAfter: 200 }) } });
  watch.refresh();
  await answer(fleet(false));
  assert.deepEqual(waits(), [FAILING_MS]);
  await pass(FAILING_MS);
  await answer(fleet(false));
  assert.deepEqual(seen, ["served"]);
  await pass(FAILING_MS);
  await answer(fleet(true));
  assert.deepEqual(seen, ["served", "served"]);
  store.update({ failure: null });
  await pass(FAILING_MS);
  await answer(fleet(true));
  assert.deepEqual([seen.length, waits()], [2, [USUAL_MS]]);
});

test("a newer question takes the place of an older one, and a hidden page asks none", async () => {
  const { answer, asked, store, view, waits, watch } = setUp();
  watch.refresh();
  watch.refresh();
  assert.deepEqual(asked.map(({ signal }) => signal.aborted), [true, false]);
  await answer(fleet(true));
  assert.deepEqual([store.state.languagesProblem, waits()], [null, [USUAL_MS]]);
  view.isVisible = false;
  watch.refresh();
  assert.deepEqual([asked.length, waits()], [2, []]);
});
