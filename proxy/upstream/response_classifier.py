"""Replicas' responses, and what they mean for the client and for the replica's statistics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from http import HTTPStatus
from typing import Final

from pydantic import ValidationError

from shared.languages import LanguagePair
from shared.protocol.deadline import Deadline
from shared.protocol.errors import OverloadedError, PairUnavailableError, PairwayError, RelayedError, ReplicaFailedError
from shared.protocol.messages import Problem

# What a replica that is full or lost the pair asks us to wait, when it does not say; and the most that it can ask.
RETRY_AFTER_SECONDS: Final = 1.0
LONGEST_RETRY_AFTER_SECONDS: Final = 60.0
# A replica that calls the time over while more than this is left is wrong: clocks and networks differ by less.
TIME_LEFT_SECONDS: Final = 0.05
# Problems that hold for the client whoever answers: what it asked for is wrong, or the model fails at this very text.
FINAL_CODES: Final = frozenset({"bad-request", "invalid-request", "too-large", "unusable-output"})
# What would be wrong with the proxy, never with the client: a key that the fleet asks for and the proxy lacks.
UNTRUSTED: Final = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})
# A plain number for the way of every request: to look a member of an enumeration up costs ten times as much.
OK: Final = 200


class AttemptOutcome(Enum):
    """What one attempt says about the replica."""

    GOOD = "good"  # it translated
    ANSWERED = "answered"  # it refused, rightly, a request that is wrong whoever answers: says nothing of its speed
    FAILED = "failed"  # it should have answered and did not
    REFUSED = "refused"  # it does not serve the pair any more
    FULL = "full"  # it is full now: back-pressure, not death
    NONE = "none"  # nothing: the client went away, or gave too little time


@dataclass  # neither frozen nor with slots: the one makes it three times slower to make, the other keeps no problem
class ReplicaResponse:
    """Status and body; ``retry_after`` is in seconds."""

    status: int
    body: bytes
    retry_after: float | None = None

    @cached_property
    def problem(self) -> Problem | None:
        """The problem of an error that the replica explained."""
        if self.status < HTTPStatus.BAD_REQUEST:
            return None
        try:
            return Problem.model_validate_json(self.body)
        except ValidationError:
            return None


@dataclass(frozen=True, slots=True)
class Refusal:
    """Response that is no translation; ``error`` is for the client, unless another replica may serve (``elsewhere``)."""

    outcome: AttemptOutcome
    error: PairwayError
    elsewhere: bool


def classify(
    pair: LanguagePair, status: int, problem: Problem | None, retry_after: float | None, deadline: Deadline
) -> Refusal:
    """Classify a response that is no translation: by its problem's code, by its status only where it has none."""
    wait = min(LONGEST_RETRY_AFTER_SECONDS, retry_after or RETRY_AFTER_SECONDS)
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
            late = reason == "late"  # too much for the time that this one client has: it may have room for others
            why = problem.detail if late else "Every replica for this pair is full."
            full = OverloadedError(why, retry_after=wait, facts={"reason": str(reason)})
            refusal = Refusal(AttemptOutcome.ANSWERED if late else AttemptOutcome.FULL, full, elsewhere=True)
        case "unknown-pair" | "pair-unavailable":
            why = "the replicas that served it are not ready for it any more"
            refusal = Refusal(
                AttemptOutcome.REFUSED, PairUnavailableError(str(pair), why, retry_after=wait), elsewhere=True
            )
        case "deadline-exceeded":
            over = deadline.remaining() <= TIME_LEFT_SECONDS
            outcome = AttemptOutcome.NONE if over else AttemptOutcome.FAILED
            refusal = Refusal(outcome, deadline.exceeded_error(), elsewhere=not over)
        case code if code in FINAL_CODES:
            refusal = Refusal(AttemptOutcome.ANSWERED, _relayed(status, problem), elsewhere=False)
        case _:
            pass
    return refusal


def _failure_detail(status: int, problem: Problem | None) -> str:
    if status in UNTRUSTED:
        return f"A replica refuses this proxy ({status}): an operator has to look."
    return (
        f"A replica answered {status} without a reason." if problem is None else f"A replica answered {problem.code}."
    )


def _relayed(status: int, problem: Problem) -> RelayedError:
    facts: Mapping[str, object] = problem.model_extra or {}
    return RelayedError(code=problem.code, http_status=status, title=problem.title, detail=problem.detail, facts=facts)


def most_useful_error(errors: Iterable[PairwayError]) -> PairwayError:
    """Return the error for the client when every attempt failed.

    One of a replica that is full or gone comes first: it may be back soon, one that fails may not.
    """
    kinds = (OverloadedError, PairUnavailableError)

    def rank(error: PairwayError) -> tuple[int, float]:
        kind = next((n for n, each in enumerate(kinds) if isinstance(error, each)), len(kinds))
        return kind, error.retry_after or 0.0

    return min(errors, key=rank)
