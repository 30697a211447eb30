"""Exchange: one request until it is answered: deadline, repeats, problems."""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from .errors import (
    AnswerError,
    DeadlineError,
    PairwayError,
    ProblemError,
    TooLargeError,
    UnreachableError,
    UnsupportedError,
    problem_of,
)
from .settings import Settings
from .splitting import Limits
from .steps import ApiRequest, Call, Lost, Reply, Send, Wait

# The server refused before it did any work, so that even a change may be sent again.
NO_WORK: Final = frozenset(
    {
        (408, "request-timeout"),
        (429, "rate-limited"),
        (503, "overloaded"),
        (503, "pair-unavailable"),
        (503, "keys-unavailable"),
    }
)
# docs/api.md, "Send again".
REPEATED: Final = frozenset({408, 429, 503, 504})
# Each of these may have cost the server the whole work.
MAX_WORKED: Final = 3
FIRST_WAIT: Final = 0.25
MAX_WAIT: Final = 8.0
REQUEST_ID: Final = "X-Request-Id"
_UNTRUSTED: Final = "CERTIFICATE_VERIFY_FAILED"
_HINT_TRUST: Final = "; trust its authority with --ca FILE or verify="
_HINT_START: Final = "; set PAIRWAY_URL, --url or url= to the server's address, `make up` starts one"


@dataclass(slots=True)
class Session:
    """State that calls of a client share; ``reached``: the server answered once.

    ``named_limits``: whether it names its limits; None if it was not asked.
    """

    settings: Settings
    timeout: float
    limits: Limits = field(default_factory=Limits)
    reached: bool = False
    named_limits: bool | None = None
    now: Callable[[], float] = time.monotonic
    jitter: Callable[[], float] = random.random  # noqa: S311 -- it spreads waits

    def deadline(self, timeout: float | None) -> float:
        """Return when a call that begins now must end."""
        return self.now() + (self.timeout if timeout is None else timeout)

    def lower_limits(self, error: TooLargeError) -> Limits | None:
        """Return the limits after a 413, None if it teaches nothing."""
        return None if self.named_limits else self.limits.lowered(error.members)


def exchange(session: Session, request: ApiRequest, deadline: float, *, opens: bool = False) -> Call[Reply]:
    """Send a request until it is answered; all attempts have one id.

    Raises:
        PairwayError: the server refused or failed, is away, or the deadline passed.
    """
    request_id = uuid.uuid4().hex
    request.headers = {**request.headers, REQUEST_ID: request_id}
    failure: PairwayError | None = None
    attempts = worked = 0
    while (seconds := deadline - session.now()) > 0:
        request.headers["X-Timeout-Ms"] = str(max(1, int(seconds * 1000)))
        outcome: Reply | Lost = yield Send(request, seconds, opens)
        if isinstance(outcome, Reply):
            session.reached = True
            if outcome.status < 300 or outcome.status in request.accepted:
                return outcome
        elif outcome.timed_out:
            break
        failure = failure_of(request, outcome, request_id, session.settings.url)
        did_work = not _was_refused(outcome, failure)
        worked += did_work
        if did_work and (not request.safe or worked >= MAX_WORKED):
            raise failure
        if not _may_pass(outcome, failure, reached=session.reached):
            raise failure
        wait = _wait_before(attempts, failure, session.jitter())
        attempts += 1
        if session.now() + wait >= deadline:
            if isinstance(outcome, Reply) and outcome.status == 504:
                break  # the server had the same deadline
            raise failure
        yield Wait(wait)
    raise DeadlineError("The call's deadline passed before the server answered.", request_id=request_id) from failure


def failure_of(request: ApiRequest, outcome: Reply | Lost, request_id: str, url: str) -> PairwayError:
    """Return the error of what is no good answer."""
    if isinstance(outcome, Lost):
        hint = "" if outcome.sent else _HINT_TRUST if _UNTRUSTED in outcome.reason else _HINT_START
        return UnreachableError(f"{url} cannot be reached: {outcome.reason}{hint}.", request_id=request_id)
    request_id = outcome.headers.get(REQUEST_ID, request_id)
    try:
        members = outcome.members()
    except (ValueError, TypeError):
        members = {}
    if not members and outcome.status not in REPEATED:
        message = f"{url} answered {outcome.status} without a problem: is it a Pairway server?"
        return AnswerError(message, request_id=request_id)
    problem = problem_of(
        outcome.status, members, request_id=request_id, retry_after=_seconds(outcome.headers.get("Retry-After"))
    )
    lacking = _lacking(request, problem)
    return problem if lacking is None else _unsupported(lacking, problem)


def _lacking(request: ApiRequest, problem: ProblemError) -> str | None:
    """Return the feature that the server lacks, None for other problems."""
    # Of /usage it says that keys are off.
    if problem.code == "method-not-allowed" or (problem.code == "not-found" and request.path != "/usage"):
        return f"{request.method} {request.path}"
    errors: list[dict[str, Any]] = problem.members.get("errors") or []
    fields = [str(each.get("field")) for each in errors if "is not a field" in str(each.get("message"))]
    return ", ".join(fields) or None


def _unsupported(feature: str, problem: ProblemError) -> UnsupportedError:
    return UnsupportedError(
        f"This server has no {feature}; it may be older than the client. {problem.detail}",
        code=problem.code,
        status=problem.status,
        request_id=problem.request_id,
        members=problem.members,
    )


def _was_refused(outcome: Reply | Lost, failure: PairwayError) -> bool:
    """Say whether the server did no work for this."""
    if isinstance(outcome, Lost):
        return not outcome.sent
    return isinstance(failure, ProblemError) and (outcome.status, failure.code) in NO_WORK


def _may_pass(outcome: Reply | Lost, failure: PairwayError, *, reached: bool) -> bool:
    """Say whether the same request may succeed later.

    A server that never answered is taken as a wrong address.
    """
    if isinstance(outcome, Lost):
        return reached
    code = failure.code if isinstance(failure, ProblemError) else ""
    return outcome.status in REPEATED or (outcome.status, code) == (502, "replica-failed")


def _wait_before(attempts: int, failure: PairwayError, jitter: float) -> float:
    """Return the seconds to wait: the server's, or more each time."""
    asked = failure.retry_after if isinstance(failure, ProblemError) else None
    waits = min(MAX_WAIT, FIRST_WAIT * 2.0 ** min(attempts, 10))
    return asked + FIRST_WAIT * jitter if asked is not None else waits * (0.5 + jitter / 2)


def _seconds(value: str | None) -> float | None:
    try:
        return None if value is None else max(0.0, float(value))
    except ValueError:
        return None  # a date, which Pairway never sends


def decoded(reply: Reply) -> dict[str, Any]:
    """Return the answer's members; raise AnswerError if it has none."""
    try:
        return reply.members()
    except (ValueError, TypeError):
        request_id = reply.headers.get(REQUEST_ID)
        raise AnswerError("The answer is not JSON of a Pairway server.", request_id=request_id) from None
