// Follows the status: by a stream, or by polling where something in between holds the stream back.

import { ProblemError, unreachable } from "../common/problem.js";
import { readEvents, send, TimeLimit } from "../common/request.js";

/** Head and first event come at once; without them a server in between collects the stream. */
export const FIRST_EVENT_MS = 4000;
/** The proxy sends a sign of life every 5 s. */
export const SILENCE_MS = 8000;
export const POLL_MS = 3000;
/** For an answer, whole. */
export const ANSWER_MS = 5000;
/** An operator's command waits for Redis. */
export const CHANGE_MS = 30_000;
/** Polls until the stream is tried again. */
export const POLLS = 100;
const RETRY_MS = [500, 1000, 2000, 4000];

/** Calls the API below the page's own address, as long as it runs. */
export class StatusClient {
  #parts;
  #abort = null;
  #failures = 0;

  /**
   * Of the parts, `base` is the page's address, and `token` returns the operator's token or key, or "".
   * `onStatus` is given a status, `onAlive` only new times; `onState` "live", "polling", "lost" or "locked", and a problem or null.
   */
  constructor(parts) {
    this.#parts = parts;
  }

  /** Begins, or begins again: with another token, or where the network changed. */
  start() {
    this.#abort?.abort();
    const abort = new AbortController();
    this.#abort = abort;
    this.#failures = 0;
    this.#follow(abort.signal);
  }

  async #follow(signal) {
    while (!signal.aborted) {
      try {
        if (await this.#stream(signal)) await this.#pause(RETRY_MS[0], signal);
        else await this.#poll(signal);
      } catch (problem) {
        if (signal.aborted) return;
        if (problem.status === 401 || problem.status === 403) return this.#parts.onState("locked", problem);
        this.#parts.onState("lost", problem);
        await this.#pause(RETRY_MS[Math.min(this.#failures++, RETRY_MS.length - 1)], signal);
      }
    }
  }

  /** Returns whether the stream works; false: poll. */
  async #stream(signal) {
    const limit = new TimeLimit(this.#parts.clock, FIRST_EVENT_MS, signal);
    let hasEvents = false;
    try {
      const response = await this.#send("status/stream", { signal: limit.signal });
      limit.start(FIRST_EVENT_MS);
      for await (const { event, data } of readEvents(response.body)) {
        limit.start(SILENCE_MS);
        if (event === "alive") this.#parts.onAlive(JSON.parse(data));
        if (event !== "status") continue;
        hasEvents = true;
        this.#pass("live", JSON.parse(data));
      }
      return hasEvents;
    } catch (problem) {
      if (problem.status === 503) return false;
      if (problem.status) throw problem;
      if (!hasEvents && limit.isOver) return false;
      throw problem instanceof ProblemError ? problem : unreachable();
    } finally {
      limit.end();
    }
  }

  // After failures once: the server hung, and nothing in between holds the stream back.
  async #poll(signal) {
    for (let left = this.#failures ? 1 : POLLS; left > 0 && !signal.aborted; left -= 1) {
      this.#pass("polling", await this.#ask("status/data", {}, (response) => response.json(), ANSWER_MS, signal));
      await this.#pause(POLL_MS, signal);
    }
  }

  #pass(state, status) {
    this.#failures = 0;
    this.#parts.onState(state, null);
    this.#parts.onStatus(status);
  }

  /** Drains, resumes or removes a replica; raises the problem. */
  change(action, url) {
    const [method, path, body] = action === "remove" ? ["DELETE", `?url=${encodeURIComponent(url)}`] : ["POST", `/${action}`, JSON.stringify({ url })];
    return this.#ask(`fleet/replicas${path}`, { method, body, headers: { "Content-Type": "application/json" } }, () => null, CHANGE_MS);
  }

  /** Returns a document of operators, a Markdown text. */
  document(path) {
    return this.#ask(`status/docs/${path}`, {}, (response) => response.text(), ANSWER_MS);
  }

  /** Returns what `read` makes of an answer; both have one time limit. */
  async #ask(path, options, read, wait, signal = null) {
    const limit = new TimeLimit(this.#parts.clock, wait, signal);
    try {
      return await read(await this.#send(path, { ...options, signal: limit.signal }));
    } catch (problem) {
      throw problem instanceof ProblemError ? problem : unreachable();
    } finally {
      limit.end();
    }
  }

  #send(path, options) {
    return send(new URL(path, this.#parts.base), this.#parts.token(), options);
  }

  #pause(wait, signal) {
    const limit = new TimeLimit(this.#parts.clock, wait, signal);
    return new Promise((resolve) => limit.signal.addEventListener("abort", resolve, { once: true })).then(() => limit.end());
  }
}
