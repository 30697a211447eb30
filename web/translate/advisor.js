// What the page asks beside the translation: the language of a text under a chosen one, and other translations.

import { asProblem } from "../common/problem.js";
import { TimeLimit } from "../common/request.js";
import { isTellable, LOOK_CHARS, otherLanguage } from "./logic/languages.js";
import { requestBody } from "./logic/request_body.js";

/** A text rests when nobody has changed it for so long. */
export const REST_MS = 1500;
const DETECT_LIMIT_MS = 5000;
/** The server's own limit for a short text. */
const OTHERS_LIMIT_MS = 30_000;
/** The API's most. */
const OTHERS = 3;

export class Advisor {
  #parts;
  #subject = "";
  #timer = null;
  #detection = null;
  #others = null;

  constructor(parts) {
    this.#parts = parts;
  }

  /** The state has changed: what it says of another text is forgotten, and a text that rests is looked at. */
  note(state) {
    const subject = subjectOf(state);
    if (subject === this.#subject) return;
    const { clock, store } = this.#parts;
    this.#subject = subject;
    clock.clearTimeout(this.#timer);
    this.#detection?.end();
    if (state.looksLike) store.update({ looksLike: null });
    if (subject) this.#timer = clock.setTimeout(() => this.#look(), REST_MS);
  }

  async #look() {
    const { client, clock, store } = this.#parts;
    const { text, source } = store.state;
    const limit = new TimeLimit(clock, DETECT_LIMIT_MS);
    this.#detection = limit;
    // Not half a character: JSON of the server has none.
    const beginning = text.slice(0, LOOK_CHARS).replace(/[\ud800-\udbff]$/, "");
    const answer = await client.detect(beginning, limit.signal).catch(() => null);
    const found = answer && otherLanguage(answer, source);
    if (found && !limit.signal.aborted) store.update({ looksLike: found });
    limit.end();
  }

  /** Asks for other translations of the present text. */
  async askOthers() {
    const { client, clock, store } = this.#parts;
    const request = requestBody(store.state);
    this.#others?.end();
    const limit = new TimeLimit(clock, OTHERS_LIMIT_MS);
    this.#others = limit;
    store.update({ others: { request, texts: null } });
    const others = { request, texts: [] };
    try {
      others.texts = (await client.translateAgain(request, OTHERS, limit.signal)).alternatives ?? [];
    } catch (error) {
      others.problem = asProblem(error);
    }
    if (this.#others === limit) store.update({ others });
    limit.end();
  }
}

// What is looked at, or "": a language that is detected anyway, markup, and a few letters are not.
function subjectOf({ text, source, format, config, key }) {
  const isAsked = source !== "auto" && format !== "html" && (key || !config.keys) && isTellable(text);
  return isAsked ? `${source} ${text.slice(0, LOOK_CHARS)}` : "";
}
