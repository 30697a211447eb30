// Words for what the server says in codes. Every code of the product has words, which a test checks.

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
  return known(text, `warning.${code}`, { values: values.join(", ") }) ?? (message || code);
}

/** Returns a problem in words; without a network nothing else is to blame. */
export function problemText(problem, text, isOnline = true) {
  if (problem.code === "unreachable" && !isOnline) return text("problem.offline");
  const { code, detail, status } = problem;
  return known(text, `problem.${code}`, { status }) ?? (detail || text("problem.unknown", { status }));
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

// A text that is missing is its name.
function known(text, name, values) {
  const words = text(name, values);
  return words === name ? null : words;
}
