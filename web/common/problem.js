// Errors of the server (application/problem+json), and of the way to it.

/**
 * An answer that is no success, or none at all (`status` 0, `code` "unreachable"). `unserved`: the language that a text seems
 * to have, if the server does not translate it; `retryAfter`: seconds, or null. Other servers on the way answer with anything.
 */
export class ProblemError extends Error {
  constructor({ status, code, detail, candidates, unserved, retryAfter = null }) {
    super(`${status} ${code}`);
    this.status = status;
    this.code = typeof code === "string" ? code : "unknown";
    this.detail = typeof detail === "string" ? detail : "";
    this.candidates = Array.isArray(candidates) ? candidates : [];
    this.unserved = typeof unserved?.lang === "string" ? unserved : null;
    this.retryAfter = retryAfter;
  }
}

/** Returns the error of a response that is no success. */
export async function problemOf(response) {
  const body = await response.json().catch(() => null);
  // A date is allowed too; our servers send whole seconds.
  const seconds = Number.parseInt(response.headers.get("Retry-After") ?? "", 10);
  return new ProblemError({ ...body, status: response.status, retryAfter: seconds >= 0 ? seconds : null });
}

/** Returns the error that an event of a stream carries. */
export function problemOfEvent(body) {
  return new ProblemError({ ...body, status: Number(body?.status) || 500, retryAfter: null });
}

/** Returns the error for a request without any answer. */
export function unreachable() {
  return new ProblemError({ status: 0, code: "unreachable" });
}

/** Returns whatever was thrown as an error of the server, or as one of the page; what a time limit ended was not reached. */
export function asProblem(error) {
  if (error.name === "AbortError") return unreachable();
  return error instanceof ProblemError ? error : new ProblemError({ status: 0, code: "page", detail: String(error) });
}
