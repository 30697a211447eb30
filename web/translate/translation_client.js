// The proxy's API as the page uses it.

import { ProblemError, problemOfEvent } from "../common/problem.js";
import { readEvents, send } from "../common/request.js";

/** Calls the API below the page's own address. */
export class TranslationClient {
  #base;
  #key;

  /** `base` is the page's address, with a slash at its end; `key` returns the API key, or "". */
  constructor(base, key) {
    this.#base = base;
    this.#key = key;
    this.translateUrl = new URL("translate", base).href;
  }

  /** Returns the languages that the fleet serves now. */
  async languages(signal) {
    const response = await send(new URL("languages", this.#base), "", { signal });
    return (await response.json()).languages;
  }

  /** Returns the usage of the key; raises if it is refused. */
  async usage() {
    return (await this.#send("usage")).json();
  }

  /** Returns the key's glossaries, without their entries. */
  async glossaries() {
    return (await (await this.#send("glossaries")).json()).glossaries;
  }

  /** Returns what a text's language seems to be. */
  async detect(text, signal) {
    return (await this.#post("detect", { text }, signal)).json();
  }

  /** Returns the result with other translations, as a whole. */
  async translateAgain(body, alternatives, signal) {
    return (await this.#post("translate", { ...body, alternatives, confidence: true }, signal)).json();
  }

  /** Translates; each part is passed on as soon as it is final. Returns the result. The signal ends the request, down to the engine. */
  async translate(body, signal, onPart) {
    const response = await this.#post("translate", { ...body, confidence: true }, signal, { Accept: "text/event-stream" });
    if (!response.headers.get("Content-Type")?.startsWith("text/event-stream")) return response.json();
    try {
      for await (const { event, data } of readEvents(response.body)) {
        if (event === "delta") onPart(JSON.parse(data).text);
        if (event === "result") return JSON.parse(data);
        if (event === "error") throw problemOfEvent(JSON.parse(data));
      }
      throw new Error("a stream without its last event");
    } catch (error) {
      throw error instanceof ProblemError || signal.aborted ? error : new ProblemError({ status: 0, code: "cut-off" });
    }
  }

  #post(path, body, signal, accepted = {}) {
    const headers = { "Content-Type": "application/json", ...accepted };
    return this.#send(path, { method: "POST", headers, body: JSON.stringify(body), signal });
  }

  #send(path, options = {}) {
    return send(new URL(path, this.#base), this.#key(), options);
  }
}
