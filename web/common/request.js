// Time limits of requests: without one a server that hangs is waited for without end.

/** A signal that ends a request at its time limit, or with an outer signal. */
export class TimeLimit {
  #clock;
  #outer;
  #abort = new AbortController();
  #timer = null;
  #pass = () => this.#abort.abort();
  /** Whether the time has passed. */
  isOver = false;

  constructor(clock, outer) {
    this.#clock = clock;
    this.#outer = outer;
    outer?.addEventListener("abort", this.#pass);
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
