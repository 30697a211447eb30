// Requests to the server, and the events of their answers. Without a time limit one that hangs is waited for without end.

import { problemOf, unreachable } from "./problem.js";

/** Sends a request with a key, or "", and returns its answer; raises whatever is no success. */
export async function send(address, key, { headers = {}, ...options }) {
  const authorization = key ? { Authorization: `Bearer ${key}` } : {};
  let response;
  try {
    response = await fetch(address, { cache: "no-store", headers: { ...headers, ...authorization }, ...options });
  } catch (error) {
    throw error.name === "AbortError" ? error : unreachable();
  }
  if (!response.ok) throw await problemOf(response);
  return response;
}

/** A signal that ends a request at its time limit, or with an outer signal. */
export class TimeLimit {
  #clock;
  #outer;
  #abort = new AbortController();
  signal = this.#abort.signal;
  #timer = null;
  #pass = () => this.#abort.abort();
  /** Whether the time has passed. */
  isOver = false;

  constructor(clock, wait, outer = null) {
    this.#clock = clock;
    this.#outer = outer;
    outer?.addEventListener("abort", this.#pass);
    this.start(wait);
  }

  /** The time begins, or begins again. */
  start(wait) {
    this.#clock.clearTimeout(this.#timer);
    this.#timer = this.#clock.setTimeout(() => {
      this.isOver = true;
      this.#pass();
    }, wait);
  }

  end() {
    this.#clock.clearTimeout(this.#timer);
    this.#outer?.removeEventListener("abort", this.#pass);
    this.#pass();
  }
}

/** Yields the events of a body, `{event, data}`, as they come. EventSource cannot send headers. */
export async function* readEvents(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const blocks = (rest + value).split(/\r?\n\r?\n/);
      rest = blocks.pop();
      yield* blocks.map(readEvent).filter(({ data }) => data !== null);
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

function readEvent(block) {
  const event = { event: "message", data: null };
  for (const line of block.split(/\r?\n/)) {
    const [, field, value] = /^(event|data): ?([^]*)$/.exec(line) ?? [];
    if (field === "event") event.event = value;
    if (field === "data") event.data = event.data === null ? value : `${event.data}\n${value}`;
  }
  return event;
}
