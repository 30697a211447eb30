// Errors of the server (application/problem+json), and of the way to it.

/**
 * An answer that is no success, or none at all (`status` 0, `code` "unreachable"). `unserved`: the language that a text seems
 * to have, if the server does not translate it; `retryAfter`: seconds, or null.
 */
export class ProblemError extends Error {
  constructor({ status, code, detail = "", candidates = [], unserved = null, retryAfter = null }) {
    super(`${status} ${code}`);
    Object.assign(this, { status, code, detail, candidates, unserved, retryAfter });
  }
}

/** Returns the error of a response that is no success. Other servers on the way answer with anything. */
export async function problemOf(response) {
  const body = await response.json().catch(() => ({}));
  return new ProblemError({
    ...knownMembers(body),
    status: response.status,
    retryAfter: secondsOf(response.headers.get("Retry-After")),
  });
}

/** Returns the error that an event of a stream carries. */
export function problemOfEvent(body) {
  return new ProblemError({ ...knownMembers(body), status: Number(body?.status) || 500 });
}

/** Returns the error for a request without any answer. */
export function unreachable() {
  return new ProblemError({ status: 0, code: "unreachable" });
}

/** Returns whatever was thrown as an error of the server, or as one of the page. */
export function asProblem(error) {
  return error instanceof ProblemError ? error : new ProblemError({ status: 0, code: "page", detail: String(error) });
}

function knownMembers(body) {
  return {
    code: typeof body?.code === "string" ? body.code : "unknown",
    detail: typeof body?.detail === "string" ? body.detail : "",
    candidates: Array.isArray(body?.candidates) ? body.candidates : [],
    unserved: typeof body?.unserved?.lang === "string" ? body.unserved : null,
  };
}

// A date is allowed too; our servers send whole seconds.
function secondsOf(header) {
  const seconds = Number.parseInt(header ?? "", 10);
  return seconds >= 0 ? seconds : null;
}
