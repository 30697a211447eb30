// The proxy's API as the page uses it.

import { readEvents } from "../common/event_stream.js";
import { ProblemError, problemOf, problemOfEvent, unreachable } from "../common/problem.js";

/** Calls the API below the page's own address. */
export class TranslationClient {
  #base;
  #key;

  /**
   * @param {string} base address of the page, with a slash at its end
   * @param {() => string} key returns the API key, or ""
   */
  constructor(base, key) {
    this.#base = base;
    this.#key = key;
  }

  get translateUrl() {
    return new URL("translate", this.#base).href;
  }

  /** Returns the languages that the fleet serves now. */
  async languages(signal) {
    const response = await this.#send("languages", { signal });
    return (await response.json()).languages;
  }

  /** Returns the usage of the key; raises if it is refused. */
  async usage() {
    return (await this.#send("usage", { headers: this.#authorization() })).json();
  }

  /**
   * Translates; each part is passed on as soon as it is final. Returns the result.
   * @param {object} body
   * @param {AbortSignal} signal ends the request, down to the engine
   * @param {(part: string) => void} onPart
   */
  async translate(body, signal, onPart) {
    const headers = { "Content-Type": "application/json", Accept: "text/event-stream", ...this.#authorization() };
    const response = await this.#send("translate", { method: "POST", headers, body: JSON.stringify(body), signal });
    if (!response.headers.get("Content-Type")?.startsWith("text/event-stream")) return response.json();
    try {
      for await (const { event, data } of readEvents(response.body)) {
        if (event === "delta") onPart(JSON.parse(data).text);
        if (event === "result") return JSON.parse(data);
        if (event === "error") throw problemOfEvent(JSON.parse(data));
      }
    } catch (error) {
      throw error instanceof ProblemError || signal.aborted ? error : cutOff();
    }
    throw cutOff();
  }

  async #send(path, options) {
    let response;
    try {
      response = await fetch(new URL(path, this.#base), { cache: "no-store", ...options });
    } catch (error) {
      throw error.name === "AbortError" ? error : unreachable();
    }
    if (!response.ok) throw await problemOf(response);
    return response;
  }

  #authorization() {
    return this.#key() ? { Authorization: `Bearer ${this.#key()}` } : {};
  }
}

// A stream without its last event.
function cutOff() {
  return new ProblemError({ status: 0, code: "cut-off" });
}
