// Keeps the list of languages, and tells when what failed can be tried again.

import { asProblem } from "../common/problem.js";
import { TimeLimit } from "../common/request.js";
import { servedSource, targetOptions, usualTarget } from "./logic/languages.js";
import { isOutage } from "./logic/messages.js";
import { knownSource } from "./state.js";

/** How often a visible page asks what the fleet serves. */
export const USUAL_MS = 30_000;
/** The same while something fails: so long does nobody wait for nothing. */
export const FAILING_MS = 3000;
/** The list takes milliseconds; a server that gives none in this time hangs. */
export const LIMIT_MS = 10_000;

export class LanguageWatch {
  #parts;
  #timer = null;
  #limit = null;
  #isServed = false;

  /**
   * Of the parts, `preferred` are the person's languages; `onFirstTarget` is called when a target is chosen because
   * there was none, and `onServed` when the pair is served that was not when asked before.
   */
  constructor(parts) {
    this.#parts = parts;
  }

  /** Asks now, and then from time to time; a page that nobody sees asks nothing. */
  async refresh() {
    const { client, clock, store, isVisible } = this.#parts;
    clock.clearTimeout(this.#timer);
    if (!isVisible()) return;
    this.#limit?.end();
    const limit = new TimeLimit(clock, LIMIT_MS);
    this.#limit = limit;
    const answer = await client.languages(limit.signal).then((languages) => ({ languages }), (error) => ({ problem: asProblem(error) }));
    if (this.#limit !== limit) return;
    limit.end();
    if (answer.languages) this.#keep(answer.languages);
    store.update({ languagesProblem: answer.problem ?? null });
    this.#noteServed();
    const { failure, languages, languagesProblem } = store.state;
    const fails = languagesProblem !== null || languages.length === 0 || (failure && isOutage(failure.problem));
    this.#timer = clock.setTimeout(() => this.refresh(), fails ? FAILING_MS : USUAL_MS);
  }

  #keep(languages) {
    const { store, preferred, onFirstTarget } = this.#parts;
    const { target } = store.state;
    const first = target || usualTarget(languages, null, preferred);
    store.update({ languages, languagesLoaded: true, target: first });
    if (first !== target) onFirstTarget();
  }

  #noteServed() {
    const { store, onServed } = this.#parts;
    const { state } = store;
    const options = targetOptions(state.languages, servedSource(state.languages, knownSource(state)), state.interfaceLanguage);
    const was = this.#isServed;
    this.#isServed = state.languagesProblem === null && options.some(({ lang, ready }) => ready && lang === state.target);
    if (this.#isServed && !was) onServed();
  }
}
