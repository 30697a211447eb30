"""Replicas' responses and failures, and what they mean for clients and statistics."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from http import HTTPStatus
from typing import Final

from pydantic import ValidationError

from shared.languages import LanguagePair
from shared.protocol.answers import Problem
from shared.protocol.deadline import Deadline
from shared.protocol.errors import (
    REASONS_OF_ONE_REQUEST,
    OverloadedError,
    PairUnavailableError,
    PairwayError,
    RelayedError,
    ReplicaFailedError,
)

# Default and maximum of a replica's Retry-After.
REPLICA_RETRY_SECONDS: Final = 1.0
LONGEST_RETRY_AFTER_SECONDS: Final = 60.0
# With more time left, a replica that reports an exceeded deadline is wrong: clocks and networks differ by less.
TIME_LEFT_SECONDS: Final = 0.05
# Any replica would report these: the request is wrong, or the model fails with this text.
FINAL_CODES: Final = frozenset({"bad-request", "invalid-request", "too-large", "unusable-output"})
# The proxy's token for replicas is missing or wrong; never the client's fault.
UNTRUSTED: Final = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})
# Longer ones are taken for none: each of its members, known or not, is built and passed on.
MAX_PROBLEM_BYTES: Final = 16 * 1024
# A plain number: an enumeration's member costs ten times as much per request.
OK: Final = 200


class UnreachableError(Exception):
    """No connection, or an invalid URL: nothing was sent."""


class ConnectTimeoutError(UnreachableError):
    """No connection in time; maybe a lost packet."""


class BrokenAnswerError(Exception):
    """Incomplete or invalid answer of a replica."""


class SilentError(Exception):
    """No answer in time."""


class AttemptOutcome(Enum):
    """Verdict of one attempt about the replica."""

    GOOD = "good"  # a translation
    ANSWERED = "answered"  # a correct error, without evidence of speed
    FAILED = "failed"  # no answer, or a wrong one
    REFUSED = "refused"  # the pair is no longer served
    FULL = "full"  # healthy but full
    NONE = "none"  # the client disconnected or gave too little time


@dataclass  # not frozen (three times slower to create), and no slots (cached_property needs a dict)
class ReplicaResponse:
    """Status and body; ``retry_after`` is in seconds."""

    status: int
    body: bytes
    retry_after: float | None = None

    @cached_property
    def problem(self) -> Problem | None:
        """The problem in an error's body."""
        return None if self.status < HTTPStatus.BAD_REQUEST else read_problem(self.body)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Meaning of a response without a translation; ``elsewhere``: try another replica."""

    outcome: AttemptOutcome
    error: PairwayError
    elsewhere: bool


def read_problem(body: bytes) -> Problem | None:
    """Return the problem of at most ``MAX_PROBLEM_BYTES``, or None."""
    if len(body) > MAX_PROBLEM_BYTES:
        return None
    try:
        return Problem.model_validate_json(body)
    except ValidationError:
        return None


def classify(
    pair: LanguagePair, status: int, problem: Problem | None, retry_after: float | None, deadline: Deadline
) -> Refusal:
    """Classify a response by its problem's code, else by its status."""
    wait = min(LONGEST_RETRY_AFTER_SECONDS, retry_after or REPLICA_RETRY_SECONDS)
    error = ReplicaFailedError(_failure_detail(status, problem))
    failed = Refusal(AttemptOutcome.FAILED, error, elsewhere=True)
    if status in UNTRUSTED:
        return failed
    is_client_error = HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR
    refusal = Refusal(AttemptOutcome.ANSWERED, error, elsewhere=True) if is_client_error else failed
    if problem is None:
        return refusal
    match problem.code:
        case "overloaded" | "rate-limited":
            reason = (problem.model_extra or {}).get("reason", "full")
            is_own = reason in REASONS_OF_ONE_REQUEST
            why = problem.detail if is_own else "Every replica for this pair is full."
            full = OverloadedError(why, retry_after=wait, facts={"reason": str(reason)})
            refusal = Refusal(AttemptOutcome.ANSWERED if is_own else AttemptOutcome.FULL, full, elsewhere=True)
        case "unknown-pair" | "pair-unavailable":
            why = "the replicas that served it are no longer ready"
            refusal = Refusal(
                AttemptOutcome.REFUSED, PairUnavailableError(str(pair), why, retry_after=wait), elsewhere=True
            )
        case "deadline-exceeded":
            over = deadline.remaining() <= TIME_LEFT_SECONDS
            outcome = AttemptOutcome.NONE if over else AttemptOutcome.FAILED
            refusal = Refusal(outcome, deadline.exceeded_error(), elsewhere=not over)
        case code if code in FINAL_CODES:
            facts = problem.model_extra or {}
            relayed = RelayedError(
                code=problem.code, http_status=status, title=problem.title, detail=problem.detail, facts=facts
            )
            refusal = Refusal(AttemptOutcome.ANSWERED, relayed, elsewhere=False)
        case _:
            pass
    return refusal


def _failure_detail(status: int, problem: Problem | None) -> str:
    if status in UNTRUSTED:
        return f"A replica refuses this proxy's token ({status}): an operator must correct it."
    return (
        f"A replica answered {status} without a reason." if problem is None else f"A replica answered {problem.code}."
    )


def most_useful_error(errors: Iterable[PairwayError]) -> PairwayError:
    """Return the client's error: one that may be over soon first."""
    kinds = (OverloadedError, PairUnavailableError)

    def rank(error: PairwayError) -> tuple[int, float]:
        kind = next((n for n, each in enumerate(kinds) if isinstance(error, each)), len(kinds))
        return kind, error.retry_after or 0.0

    return min(errors, key=rank)
