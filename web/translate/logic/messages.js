// Words for what the server says in codes. Every code of the product has words, which a test checks.

const WARNINGS = new Set([
  "same-language",
  "segment-untranslated",
  "glossary-truncated",
  "text-cut",
  "context-unused",
  "translated-in-pieces",
  "placeholder-lost",
  "placeholder-invented",
  "output-empty",
  "output-too-long",
  "output-incomplete",
  "output-repeats",
  "output-echoes-source",
  "output-wrong-language",
  "output-has-notes",
  "output-too-short",
  "output-too-wordy",
  "output-leaks-control",
  "number-changed",
  "date-changed",
  "name-changed",
  "low-confidence",
]);
// Problems that a person at this page can meet; the others are faults of the page, with the server's own words.
const PROBLEMS = new Set([
  "unreachable",
  "cut-off",
  "cancelled",
  "key-required",
  "key-refused",
  "pair-refused",
  "origin-refused",
  "unknown-pair",
  "too-large",
  "invalid-request",
  "language-undetected",
  "rate-limited",
  "request-timeout",
  "replica-failed",
  "unusable-output",
  "overloaded",
  "pair-unavailable",
  "keys-unavailable",
  "deadline-exceeded",
  "internal",
]);
const KEY_PROBLEMS = new Set(["key-required", "key-refused"]);
const PASSING_PROBLEMS = new Set(["unreachable", "cut-off", "request-timeout", "rate-limited", "replica-failed", "deadline-exceeded"]);
const SERVER_ERROR = 500;
const NEVER_PASSING = new Set(["internal", "unusable-output"]);
// These say themselves when to come again, whatever the list of languages says.
const NO_OUTAGES = new Set(["overloaded", "rate-limited"]);
/** Seconds until the next try where the server names none. */
const DEFAULT_RETRY_SECONDS = 3;

/** Returns a warning in words; one of a newer server in the server's words. */
export function warningText({ code, message, values = [] }, text) {
  return WARNINGS.has(code) ? text(`warning.${code}`, { values: values.join(", ") }) : message || code;
}

/** Returns a problem in words; without a network nothing else is to blame. */
export function problemText(problem, text, isOnline = true) {
  if (problem.code === "unreachable" && !isOnline) return text("problem.offline");
  if (PROBLEMS.has(problem.code)) return text(`problem.${problem.code}`);
  return problem.detail || text("problem.unknown", { status: problem.status });
}

/** Returns what the server itself says, where its words add something for a person. */
export function problemDetail(problem) {
  return ["invalid-request", "too-large", "origin-refused"].includes(problem.code) ? problem.detail : "";
}

/** Returns whether the answer to a problem is a key. */
export function needsKey(problem) {
  return KEY_PROBLEMS.has(problem.code) || (problem.status === 401 && problem.code === "unknown");
}

/** Returns the seconds until the next try, or null if trying again changes nothing. */
export function secondsToRetry(problem) {
  if (problem.retryAfter !== null) return Math.max(1, problem.retryAfter);
  const passes = PASSING_PROBLEMS.has(problem.code) || (problem.status >= SERVER_ERROR && !NEVER_PASSING.has(problem.code));
  return passes ? DEFAULT_RETRY_SECONDS : null;
}

/** Returns whether a problem passes as soon as the server, or the pair of languages, is there again. */
export function isOutage(problem) {
  return secondsToRetry(problem) !== null && !NO_OUTAGES.has(problem.code);
}
