// Follows the status: by a stream, or by polling where something in between holds the stream back.

import { readEvents } from "../common/event_stream.js";
import { problemOf, unreachable } from "../common/problem.js";

/** Head and first event come at once; without them a server in between collects the stream. */
export const FIRST_EVENT_MS = 4000;
/** The proxy sends an event every 10 s at least. */
export const SILENCE_MS = 25_000;
export const POLL_MS = 3000;
/** Polls until the stream is tried again. */
export const POLLS = 100;
const RETRY_MS = [500, 1000, 2000, 4000];

/** Calls the API below the page's own address, as long as it runs. */
export class StatusClient {
  #base;
  #token;
  #clock;
  #onStatus;
  #onState;
  #abort = null;
  #failures = 0;

  /**
   * @param {object} parts
   * @param {string} parts.base address of the page
   * @param {() => string} parts.token returns the operator's token or key, or ""
   * @param {{setTimeout: Function, clearTimeout: Function}} parts.clock
   * @param {(status: object) => void} parts.onStatus
   * @param {(state: "live" | "polling" | "lost" | "locked", problem: object | null) => void} parts.onState
   */
  constructor({ base, token, clock, onStatus, onState }) {
    this.#base = base;
    this.#token = token;
    this.#clock = clock;
    this.#onStatus = onStatus;
    this.#onState = onState;
  }

  /** Begins, or begins again with another token. */
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
        if (problem.status === 401 || problem.status === 403) {
          this.#onState("locked", problem);
          return;
        }
        this.#failures += 1;
        if (this.#failures > 1) this.#onState("lost", problem);
        await this.#pause(RETRY_MS[Math.min(this.#failures, RETRY_MS.length) - 1], signal);
      }
    }
  }

  /** Returns whether the stream works; false: poll. */
  async #stream(signal) {
    const abort = new AbortController();
    const end = () => abort.abort();
    signal.addEventListener("abort", end);
    let hasEvents = false;
    let timer = null;
    const expectWithin = (wait) => {
      this.#clock.clearTimeout(timer);
      timer = this.#clock.setTimeout(end, wait);
    };
    try {
      expectWithin(FIRST_EVENT_MS);
      const response = await this.#send("status/stream", { signal: abort.signal });
      expectWithin(FIRST_EVENT_MS);
      for await (const { event, data } of readEvents(response.body)) {
        expectWithin(SILENCE_MS);
        if (event !== "status") continue;
        hasEvents = true;
        this.#pass("live", JSON.parse(data));
      }
      return hasEvents;
    } catch (problem) {
      if (problem.status === 503) return false;
      if (problem.status) throw problem;
      if (!hasEvents && abort.signal.aborted && !signal.aborted) return false;
      throw problem.code ? problem : unreachable();
    } finally {
      this.#clock.clearTimeout(timer);
      signal.removeEventListener("abort", end);
      abort.abort();
    }
  }

  async #poll(signal) {
    for (let count = 0; count < POLLS && !signal.aborted; count += 1) {
      const response = await this.#send("status/data", { signal });
      this.#pass("polling", await response.json());
      await this.#pause(POLL_MS, signal);
    }
  }

  #pass(state, status) {
    this.#failures = 0;
    this.#onState(state, null);
    this.#onStatus(status);
  }

  /** Drains, resumes or removes a replica; raises the problem. */
  async change(action, url) {
    if (action === "remove") {
      await this.#send(`fleet/replicas?url=${encodeURIComponent(url)}`, { method: "DELETE" });
      return;
    }
    const headers = { "Content-Type": "application/json" };
    await this.#send(`fleet/replicas/${action}`, { method: "POST", headers, body: JSON.stringify({ url }) });
  }

  /** Returns the runbooks, a Markdown text. */
  async runbooks() {
    return (await this.#send("status/runbooks.md", {})).text();
  }

  async #send(path, { headers = {}, ...options }) {
    const authorization = this.#token() ? { Authorization: `Bearer ${this.#token()}` } : {};
    let response;
    try {
      response = await fetch(new URL(path, this.#base), { cache: "no-store", headers: { ...headers, ...authorization }, ...options });
    } catch (error) {
      throw error.name === "AbortError" ? error : unreachable();
    }
    if (!response.ok) throw await problemOf(response);
    return response;
  }

  #pause(wait, signal) {
    return new Promise((resolve) => {
      const end = () => {
        this.#clock.clearTimeout(timer);
        signal.removeEventListener("abort", end);
        resolve();
      };
      const timer = this.#clock.setTimeout(end, wait);
      signal.addEventListener("abort", end);
    });
  }
}
