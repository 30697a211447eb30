// When the text that is being typed is sent: every two seconds, and at a pause, of which there is a budget.

/** Milliseconds between two requests while typing goes on. */
export const TYPING_INTERVAL_MS = 2000;
// A pause is longer than this person's pauses between keys, within these bounds.
const LEAST_PAUSE_MS = 220;
const MOST_PAUSE_MS = 600;
const PAUSE_PER_GAP = 1.1;
const REMEMBERED_GAPS = 8;
// Somebody who stops at each word is sent at so many of these pauses at once, and then at one every four seconds.
const MOST_PAUSES = 3;
const PAUSE_REFILL_MS = 4000;
// Timers of browsers may be early by this.
const TIMER_SLACK_MS = 50;

/** Decides the time of the next request; every time is in milliseconds of one clock. */
export class RequestPacer {
  #gaps = [];
  #lastKey = -Infinity;
  #typingSince = null;
  #pauses = MOST_PAUSES;
  #refilledAt = 0;

  /** Takes note of a changed text. */
  noteKey(now) {
    const gap = now - this.#lastKey;
    if (gap < MOST_PAUSE_MS) this.#gaps = [...this.#gaps, gap].slice(-REMEMBERED_GAPS);
    this.#lastKey = now;
    this.#typingSince ??= now;
  }

  /** Takes note of a request that was sent; only one at a pause uses the budget up. */
  noteRequest(now, isTyped) {
    this.#refill(now);
    const isAtPause = isTyped && now - (this.#typingSince ?? now) < TYPING_INTERVAL_MS - TIMER_SLACK_MS;
    if (isAtPause) this.#pauses = Math.max(0, this.#pauses - 1);
    this.#typingSince = null;
  }

  /** Returns when the text should be sent, if no other key comes before. */
  dueAt(now) {
    this.#refill(now);
    const pause = Math.min(MOST_PAUSE_MS, Math.max(LEAST_PAUSE_MS, PAUSE_PER_GAP * Math.max(0, ...this.#gaps)));
    const affordable = now + Math.max(0, 1 - this.#pauses) * PAUSE_REFILL_MS;
    return Math.min(Math.max(this.#lastKey + pause, affordable), (this.#typingSince ?? now) + TYPING_INTERVAL_MS);
  }

  #refill(now) {
    this.#pauses = Math.min(MOST_PAUSES, this.#pauses + (now - this.#refilledAt) / PAUSE_REFILL_MS);
    this.#refilledAt = now;
  }
}
