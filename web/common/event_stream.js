// Reads server-sent events from the body of a fetch, which can send headers; EventSource cannot.

/** Yields the events of a stream, `{event, data}`, as they come. */
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
