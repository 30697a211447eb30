// Sends the text while it is typed, shows the translation as it comes, and tries again after a failure that passes.

import { ProblemError } from "../common/problem.js";
import { needsKey, secondsToRetry } from "./logic/messages.js";
import { isTooLong, requestBody } from "./logic/request_body.js";
import { RequestPacer } from "./logic/request_pacer.js";

const SECOND_MS = 1000;
/** Longer waits are shown as a time of day, and nothing is sent by itself. */
export const MAX_COUNTDOWN_SECONDS = 300;
/** Tries by itself after a failure; each waits twice as long as the one before. */
export const MAX_RETRIES = 5;

export class Translator {
  #store;
  #client;
  #clock;
  #onResult;
  #pacer = new RequestPacer();
  #timer = null;
  #countdown = null;
  #abort = null;
  #lastRequest = "";
  #notBefore = 0;
  #retries = 0;

  /**
   * @param {object} parts
   * @param {{state: object, update: (changes: object) => void}} parts.store
   * @param {import("./translation_client.js").TranslationClient} parts.client
   * @param {{now: () => number, setTimeout: Function, clearTimeout: Function}} parts.clock
   * @param {(result: object) => void} parts.onResult
   */
  constructor({ store, client, clock, onResult }) {
    this.#store = store;
    this.#client = client;
    this.#clock = clock;
    this.#onResult = onResult;
  }

  /** The text has changed by a key. */
  noteTyping() {
    if (this.#stopWithoutText()) return;
    this.#pacer.noteKey(this.#clock.now());
    this.#schedule(this.#pacer.dueAt(this.#clock.now()), true);
  }

  /** Something else has changed, or somebody asks for it: send at once, unless the server has asked to wait. */
  sendSoon() {
    if (this.#stopWithoutText()) return;
    this.#schedule(this.#clock.now(), false);
  }

  /** Somebody asks to try again: send at once. */
  tryAgain() {
    this.#notBefore = 0;
    this.#lastRequest = "";
    this.#retries = 0;
    this.sendSoon();
  }

  #stopWithoutText() {
    const isLong = isTooLong(this.#store.state);
    if (this.#store.state.text.trim() && !isLong) return false;
    this.#clock.clearTimeout(this.#timer);
    this.#endFailure();
    this.#abort?.abort();
    this.#lastRequest = "";
    this.#store.update({ isBusy: false, ...(isLong ? {} : { translation: null }) });
    return true;
  }

  #schedule(due, isTyped) {
    this.#clock.clearTimeout(this.#timer);
    const wait = Math.max(due, this.#notBefore) - this.#clock.now();
    if (wait <= 0) this.#send(isTyped);
    else this.#timer = this.#clock.setTimeout(() => this.#send(isTyped), wait);
  }

  async #send(isTyped) {
    const { state } = this.#store;
    if (!state.target || state.asksForKey) return;
    const body = requestBody(state);
    const request = JSON.stringify(body);
    if (request === this.#lastRequest) return;
    this.#lastRequest = request;
    this.#pacer.noteRequest(this.#clock.now(), isTyped);
    this.#abort?.abort();
    const abort = new AbortController();
    this.#abort = abort;
    const retries = this.#retries;
    this.#endFailure();
    this.#store.update({ isBusy: true });
    const previous = state.translation ? state.translation.text + state.translation.rest : "";
    let text = "";
    try {
      const result = await this.#client.translate(body, abort.signal, (part) => {
        if (abort.signal.aborted) return;
        text += part;
        this.#store.update({ translation: { text, rest: previous.slice(text.length), result: null, format: state.format } });
      });
      if (abort.signal.aborted) return;
      this.#finish(result, state);
    } catch (error) {
      if (!abort.signal.aborted) this.#fail(error, retries);
    }
  }

  #finish(result, { text, target, format }) {
    this.#notBefore = 0;
    this.#store.update({ isBusy: false, translation: { text: result.translation ?? "", rest: "", result, format } });
    this.#onResult({ text, target, format, result });
  }

  #fail(error, pastRetries) {
    const problem = error instanceof ProblemError ? error : new ProblemError({ status: 0, code: "page", detail: String(error) });
    this.#lastRequest = "";
    const { translation } = this.#store.state;
    if (translation?.rest) this.#store.update({ translation: { ...translation, rest: "" } });
    if (needsKey(problem)) {
      const failure = { problem, seconds: null, retries: false };
      const asksForKey = !this.#store.state.isKeyDeclined;
      this.#store.update({ isBusy: false, failure, asksForKey, isKeyRefused: problem.code === "key-refused" });
      return;
    }
    const least = secondsToRetry(problem);
    const isCounted = least !== null && least <= MAX_COUNTDOWN_SECONDS;
    const retries = isCounted && pastRetries < MAX_RETRIES && this.#store.state.isOnline;
    const seconds = retries ? Math.min(least * 2 ** pastRetries, MAX_COUNTDOWN_SECONDS) : least;
    this.#store.update({ isBusy: false, failure: { problem, seconds, retries } });
    if (!isCounted) return;
    this.#notBefore = problem.retryAfter === null ? 0 : this.#clock.now() + least * SECOND_MS;
    this.#count(this.#clock.now() + seconds * SECOND_MS, retries ? pastRetries + 1 : 0);
  }

  // `retries`: how many tries by itself the next one makes; 0: there is none.
  #count(end, retries) {
    this.#countdown = this.#clock.setTimeout(() => {
      const seconds = Math.max(0, Math.round((end - this.#clock.now()) / SECOND_MS));
      const { failure } = this.#store.state;
      if (!failure) return;
      this.#store.update({ failure: { ...failure, seconds } });
      if (seconds > 0) this.#count(end, retries);
      else if (retries) this.#retry(retries);
    }, SECOND_MS);
  }

  #retry(retries) {
    this.#retries = retries;
    this.#notBefore = 0;
    this.sendSoon();
  }

  #endFailure() {
    this.#clock.clearTimeout(this.#countdown);
    this.#retries = 0;
    if (this.#store.state.failure) this.#store.update({ failure: null });
  }
}
