// Sends the text while it is typed, shows the translation as it comes, and tries again after a failure that passes.

import { asProblem, ProblemError } from "../common/problem.js";
import { isOutage, needsKey, secondsToRetry } from "./logic/messages.js";
import { isDone, isSameRequest, isTooLong, requestBody } from "./logic/request_body.js";
import { RequestPacer } from "./logic/request_pacer.js";

const SECOND_MS = 1000;
/** Longer waits are shown as a time of day, and nothing is sent by itself. */
export const MAX_COUNTDOWN_SECONDS = 300;
/** Tries by itself after a failure; each waits twice as long as the one before. */
export const MAX_RETRIES = 5;
/** So long without a word of the server is longer than usual: first words take a fifth of a second. */
export const SLOW_MS = 3000;

export class Translator {
  #parts;
  #store;
  #clock;
  #pacer = new RequestPacer();
  #timer = null;
  #countdown = null;
  #silence = null;
  #abort = null;
  /** The request that is on its way. */
  #sent = null;
  #notBefore = 0;

  /** Of the parts, `onResult` is given the request and its result. */
  constructor(parts) {
    this.#parts = parts;
    this.#store = parts.store;
    this.#clock = parts.clock;
  }

  /** The text has changed by a key. */
  noteTyping() {
    if (this.#isSettled()) return;
    this.#pacer.noteKey(this.#clock.now());
    this.#schedule(this.#pacer.dueAt(this.#clock.now()), true);
  }

  /** Something else has changed, or somebody asks for it: send at once, unless the server has asked to wait. */
  sendSoon() {
    if (!this.#isSettled()) this.#schedule(this.#clock.now(), false);
  }

  /** Somebody asks to try again: send at once. `retries`: how many tries by itself after a failure this one makes. */
  tryAgain(retries = 0) {
    this.#notBefore = 0;
    this.#sent = null;
    if (!this.#isSettled()) this.#schedule(this.#clock.now(), false, retries);
  }

  /** The server, or the pair of languages, is there again: a translation that failed without it goes on. */
  goOn() {
    const { failure, isBusy } = this.#store.state;
    if (failure && !isBusy && isOutage(failure.problem)) this.tryAgain();
  }

  /** Somebody does not want to wait any longer. */
  cancel() {
    const request = requestBody(this.#store.state);
    this.#stop();
    this.#showFailure(request, new ProblemError({ status: 0, code: "cancelled" }));
  }

  // Nothing is to be translated, or what is to be is shown already: whatever is on its way ends.
  #isSettled() {
    const { state } = this.#store;
    const isEmpty = !state.text.trim();
    if (!isEmpty && !isTooLong(state) && !isDone(state)) return false;
    this.#stop();
    this.#store.update({ failure: null, ...(isEmpty ? { translation: null } : {}) });
    return true;
  }

  #stop() {
    this.#clock.clearTimeout(this.#timer);
    this.#clock.clearTimeout(this.#countdown);
    this.#abort?.abort();
    this.#rest();
  }

  // Nothing is on its way any more.
  #rest() {
    this.#sent = null;
    this.#clock.clearTimeout(this.#silence);
    this.#silence = null;
    this.#store.update({ isBusy: false, isSlow: false });
  }

  #schedule(due, isTyped, retries = 0) {
    this.#clock.clearTimeout(this.#timer);
    const wait = Math.max(due, this.#notBefore) - this.#clock.now();
    if (wait <= 0) this.#send(isTyped, retries);
    else this.#timer = this.#clock.setTimeout(() => this.#send(isTyped, retries), wait);
  }

  async #send(isTyped, retries) {
    const { state } = this.#store;
    const request = requestBody(state);
    if (!state.target || state.asksForKey || (this.#sent && isSameRequest(this.#sent, request))) return;
    this.#pacer.noteRequest(this.#clock.now(), isTyped);
    this.#abort?.abort();
    this.#clock.clearTimeout(this.#countdown);
    const abort = new AbortController();
    this.#abort = abort;
    this.#sent = request;
    // What failed is tried again: its words stay until there is news.
    const { failure } = state;
    const isRepeated = failure && isSameRequest(failure.request, request);
    this.#store.update({ isBusy: true, failure: isRepeated ? { ...failure, seconds: failure.seconds && 0 } : null });
    if (this.#silence === null) this.#listen();
    const previous = state.translation ? state.translation.text + state.translation.rest : "";
    let text = "";
    try {
      const result = await this.#parts.client.translate(request, abort.signal, (part) => {
        if (abort.signal.aborted) return;
        text += part;
        this.#listen();
        const translation = { request, text, rest: previous.slice(text.length), result: null };
        this.#store.update({ translation, failure: null, isSlow: false });
      });
      if (!abort.signal.aborted) this.#finish(request, result);
    } catch (error) {
      if (!abort.signal.aborted) this.#fail(request, error, retries);
    }
  }

  // From the first request that gets no word, not from the newest: typing goes on meanwhile.
  #listen() {
    this.#clock.clearTimeout(this.#silence);
    this.#silence = this.#clock.setTimeout(() => this.#store.update({ isSlow: true }), SLOW_MS);
  }

  #finish(request, result) {
    this.#notBefore = 0;
    this.#rest();
    this.#store.update({ failure: null, translation: { request, text: result.translation ?? "", rest: "", result } });
    this.#parts.onResult({ request, result });
  }

  #fail(request, error, pastRetries) {
    const problem = asProblem(error);
    this.#rest();
    if (needsKey(problem)) {
      this.#showFailure(request, problem);
      this.#store.update({ asksForKey: !this.#store.state.isKeyDeclined, isKeyRefused: problem.code === "key-refused" });
      return;
    }
    const least = secondsToRetry(problem);
    const isCounted = least !== null && least <= MAX_COUNTDOWN_SECONDS;
    const retries = isCounted && pastRetries < MAX_RETRIES && this.#store.state.isOnline;
    const seconds = retries ? Math.min(least * 2 ** pastRetries, MAX_COUNTDOWN_SECONDS) : least;
    this.#showFailure(request, problem, seconds, retries);
    if (isCounted) {
      this.#notBefore = problem.retryAfter === null ? 0 : this.#clock.now() + least * SECOND_MS;
      this.#count(this.#clock.now() + seconds * SECOND_MS, retries ? pastRetries + 1 : 0);
    }
    this.#parts.onFailure();
  }

  #showFailure(request, problem, seconds = null, retries = false) {
    const { translation } = this.#store.state;
    this.#store.update({ failure: { request, problem, seconds, retries }, translation: translation && { ...translation, rest: "" } });
  }

  // `retries`: how many tries by itself the next one makes; 0: there is none.
  #count(end, retries) {
    this.#countdown = this.#clock.setTimeout(() => {
      const seconds = Math.max(0, Math.round((end - this.#clock.now()) / SECOND_MS));
      const { failure } = this.#store.state;
      if (!failure) return;
      this.#store.update({ failure: { ...failure, seconds } });
      if (seconds > 0) this.#count(end, retries);
      else if (retries) this.tryAgain(retries);
    }, SECOND_MS);
  }
}
