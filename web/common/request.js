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

  get signal() {
    return this.#abort.signal;
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
  const parser = new EventParser();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield* parser.feed(value);
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** Parser of the text of a stream, in any pieces. */
export class EventParser {
  #rest = "";
  #event = "message";
  #data = [];

  /** Yields the events that are complete with this piece. */
  *feed(piece) {
    const lines = (this.#rest + piece).split("\n");
    this.#rest = lines.pop();
    for (const line of lines) {
      const event = this.#line(line.endsWith("\r") ? line.slice(0, -1) : line);
      if (event) yield event;
    }
  }

  #line(line) {
    if (line === "") {
      const event = this.#data.length ? { event: this.#event, data: this.#data.join("\n") } : null;
      this.#event = "message";
      this.#data = [];
      return event;
    }
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") this.#event = value;
    if (field === "data") this.#data.push(value);
    return null;
  }
}
