"""What a load saw: one record per request, and what they say together. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

OK = 200
# What a client may be told while a replica, a proxy or Redis is in trouble.
CLEAR_CODES = frozenset({"pair-unavailable", "overloaded", "replica-failed", "deadline-exceeded"})


class Outcome(NamedTuple):
    """One request: when it was sent (monotonic seconds), how long it took, and what came back.

    ``status`` 0: no answer; ``code`` says why (the problem's, or the client's error); ``model`` is the one of its answer;
    ``right``: it is the translation of what was asked, under the id it was asked with; ``retry_after``: the header was there.
    """

    number: int
    sent: float
    seconds: float
    status: int
    code: str
    model: str
    right: bool
    retry_after: bool

    @property
    def failed(self) -> bool:
        return self.status != OK or not self.right

    @property
    def ended(self) -> float:
        return self.sent + self.seconds

    @property
    def clear(self) -> bool:
        """Whether it was served rightly or refused as the contract says."""
        if self.status == OK:
            return self.right
        return self.code in CLEAR_CODES and (self.retry_after or self.status != 503)


def between(outcomes: Iterable[Outcome], since: float, until: float) -> list[Outcome]:
    """Return those sent in the time."""
    return [outcome for outcome in outcomes if since <= outcome.sent < until]


def percentile(outcomes: Sequence[Outcome], percent: float) -> float:
    """Return the latency (seconds) that so many in a hundred did not exceed; what was not answered counts as it lasted."""
    if not outcomes:
        return math.nan
    ordered = sorted(outcome.seconds for outcome in outcomes)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


def failed_percent(outcomes: Sequence[Outcome]) -> float:
    return 100 * sum(outcome.failed for outcome in outcomes) / len(outcomes) if outcomes else math.nan


def share(outcomes: Sequence[Outcome], model: str) -> float:
    """Return the part of the right answers that the model gave, 0 to 1."""
    right = [outcome for outcome in outcomes if not outcome.failed]
    return sum(outcome.model == model for outcome in right) / len(right) if right else math.nan


def failures(outcomes: Iterable[Outcome]) -> dict[str, int]:
    """Count what failed by status and code."""
    kinds = (f"{one.status} {one.code if one.status != OK else 'wrong'}" for one in outcomes if one.failed)
    return dict(Counter(kinds).most_common())
