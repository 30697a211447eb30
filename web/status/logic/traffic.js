// Series of the charts, from the figures of ten seconds.

export const MAX_REASONS = 5;
/** Of a class's colour; a reason's depends on its name alone, so that it never changes. */
export const SHADES = 4;
const CLASSES = ["ok", "refused", "failed", "client"];

/** Returns the Unix times of the slots' middles. */
export function slotTimes({ start_at: start, slot_s: length, p50_s: slots }) {
  return slots.map((_, index) => start + (index + 0.5) * length);
}

/** Returns series of requests per second: `{name, values}`. */
export function requestRates({ requests, slot_s: length }) {
  return CLASSES.filter((name) => name === "ok" || sum(requests[name]) > 0).map((name) => ({ name, values: perSecond(requests[name], length) }));
}

/** Returns series of requests that were not answered, by reason, the most frequent first. */
export function reasonRates({ outcomes, classes, slot_s: length }) {
  const reasons = Object.keys(outcomes).filter((name) => sum(outcomes[name]) > 0);
  reasons.sort((one, other) => sum(outcomes[other]) - sum(outcomes[one]));
  return reasons.slice(0, MAX_REASONS).map((name) => ({
    name,
    class: classes[name] ?? "client",
    shade: name.length % SHADES,
    values: perSecond(outcomes[name], length),
  }));
}

function perSecond(counts, length) {
  return counts.map((count) => (count === null ? null : count / length));
}

/** Returns the place of the latest slot of which anything is known, or -1: one for all charts. */
export function latestSlot({ requests }) {
  return requests.ok.findLastIndex((count) => count !== null);
}

/** Returns the requests of the latest slots, and how many were answered; client errors are no requests to answer. */
export function answered({ requests }, slots) {
  const [ok, refused, failed] = CLASSES.map((name) => sum(requests[name].slice(-slots)));
  return { count: ok + refused + failed, ok };
}

/** Returns the sum of what is known. */
export function sum(values) {
  return (values ?? []).reduce((total, value) => total + (value ?? 0), 0);
}

/** Returns the places of values between two that are unknown: no line shows them. */
export function singlePoints(values) {
  const isUnknown = (index) => (values[index] ?? null) === null;
  return [...values.keys()].filter((index) => !isUnknown(index) && isUnknown(index - 1) && isUnknown(index + 1));
}
