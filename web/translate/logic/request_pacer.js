// When the text that is being typed is sent: every two seconds, and at a pause, but never more often than the budget allows.

/** Milliseconds between two requests while typing goes on. */
export const TYPING_INTERVAL_MS = 2000;
// A pause is longer than this person's pauses between keys, within these bounds.
const LEAST_PAUSE_MS = 220;
const MOST_PAUSE_MS = 600;
const PAUSE_PER_GAP = 1.1;
const REMEMBERED_GAPS = 8;
/** Requests beyond one every two seconds: somebody who stops at each word gets only so many of them. */
const BURST = 2;

/** Decides the time of the next request; every time is in milliseconds of one clock. */
export class RequestPacer {
  #gaps = [];
  #lastKey = -Infinity;
  #typingSince = null;
  #budget = BURST;
  #budgetAt = 0;

  /** Takes note of a changed text. */
  noteKey(now) {
    const gap = now - this.#lastKey;
    if (gap < MOST_PAUSE_MS) this.#gaps = [...this.#gaps, gap].slice(-REMEMBERED_GAPS);
    this.#lastKey = now;
    this.#typingSince ??= now;
  }

  /** Takes note of a request that was sent; only one for typing uses the budget up. */
  noteRequest(now, isTyped) {
    this.#refill(now);
    if (isTyped) this.#budget = Math.max(0, this.#budget - 1);
    this.#typingSince = null;
  }

  /** Returns when the text should be sent, if no other key comes before. */
  dueAt(now) {
    this.#refill(now);
    const pause = Math.min(MOST_PAUSE_MS, Math.max(LEAST_PAUSE_MS, PAUSE_PER_GAP * Math.max(0, ...this.#gaps)));
    const due = Math.min(this.#lastKey + pause, (this.#typingSince ?? now) + TYPING_INTERVAL_MS);
    const affordable = this.#budget >= 1 ? now : now + (1 - this.#budget) * TYPING_INTERVAL_MS;
    return Math.max(due, affordable);
  }

  #refill(now) {
    this.#budget = Math.min(BURST, this.#budget + (now - this.#budgetAt) / TYPING_INTERVAL_MS);
    this.#budgetAt = now;
  }
}
