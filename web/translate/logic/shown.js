// Whether what is shown is what was asked: a translation carries the request that it answers.

import { isSameRequest, requestBody } from "./request_body.js";

/** Returns whether the whole translation of the present text is shown. */
export function isDone(state) {
  const { translation } = state;
  return Boolean(translation?.result) && isSameRequest(translation.request, requestBody(state));
}

/** Returns whether what is shown is not, and is not becoming, the translation of the present text. */
export function isStale(state) {
  const { translation, isBusy } = state;
  if (!translation || isDone(state)) return false;
  return !isBusy || !isSameRequest(translation.request, requestBody(state));
}

/**
 * Returns a translation in pieces, to mark the uncertain ones.
 * @param {[number, number][]} spans in code points, as the server counts
 */
export function piecesOf(text, spans) {
  const points = Array.from(text);
  const pieces = spans.flatMap(([start, end], index) => [
    { text: points.slice(spans[index - 1]?.[1] ?? 0, start).join(""), isUncertain: false },
    { text: points.slice(start, end).join(""), isUncertain: true },
  ]);
  return [...pieces, { text: points.slice(spans.at(-1)?.[1] ?? 0).join(""), isUncertain: false }];
}
