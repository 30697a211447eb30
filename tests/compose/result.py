"""Result of a row: figures of its load, and whether they meet the targets. Pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.harness.load import Sample, failures
from benchmarks.harness.report import Checks, percentile_ms

# Statuses with which a pair without any server may refuse.
REFUSALS = frozenset({502, 503})
# A request that ends sooner without an answer met a closed port, or a connection that was just being closed.
ACCEPTED_SECONDS = 0.1
# Failed requests of a row that the figures list one by one.
MAX_LISTED = 200


@dataclass
class RowResult:
    """A row's figures; seconds count from the event."""

    row: str
    action: str
    via: str
    seconds: float = 0.0
    requests: int = 0
    failed: int = 0
    p95_ms: float = 0.0
    health: str = ""
    kinds: dict[str, int] = field(default_factory=dict[str, int])
    details: dict[str, str] = field(default_factory=dict[str, str])
    failed_requests: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    checks: Checks = field(default_factory=Checks)

    def judge(self, samples: Sequence[Sample], began: float, ended: float, may_fail: Collection[str] = ()) -> None:
        """Take the figures of the load; requests of pairs that ``may_fail`` may be refused with 502 or 503.

        The p95 is that of right answers to requests since the event.
        """
        failed = [sample for sample in samples if sample.failed]
        self.seconds = ended - began
        self.requests, self.failed, self.kinds = len(samples), len(failed), failures(samples)
        self.p95_ms = percentile_ms((each.seconds for each in samples if each.sent >= began and not each.failed), 95)
        self.failed_requests = [described(sample, began) for sample in failed[:MAX_LISTED]]
        outside = sum(sample.stream not in may_fail for sample in failed)
        name = "failed requests of other pairs" if may_fail else "failed requests"
        self.checks.at_most(name, outside, 0, timing=False)
        if may_fail:
            unclear = sum(sample.stream in may_fail and sample.status not in REFUSALS for sample in failed)
            self.checks.at_most("failures that are not 502 or 503", unclear, 0, timing=False)
        self.checks.at_least("requests", len(samples), 1, timing=False)


def described(sample: Sample, began: float) -> dict[str, Any]:
    """Return what the report says of a failed request."""
    return {
        "pair": sample.stream,
        "at": round(sample.sent - began, 3),
        "seconds": round(sample.seconds, 3),
        "status": sample.status,
        "code": sample.code,
    }


def seconds_without(samples: Sequence[Sample], pairs: Collection[str], began: float) -> float:
    """Return how long after ``began`` the last of the pairs' requests failed; 0 when none did."""
    ends = [sample.ended for sample in samples if sample.stream in pairs and sample.failed and sample.ended >= began]
    return max(ends, default=began) - began


def broken_off(samples: Sequence[Sample]) -> list[Sample]:
    """Return the requests that a fleet which stops had accepted and did not answer.

    From the first that is turned away at once the port is closed. Docker's own listener may hold later ones for a while.
    """
    unanswered = [sample for sample in samples if sample.status == 0]
    closed = min((each.sent for each in unanswered if each.seconds < ACCEPTED_SECONDS), default=math.inf)
    return [sample for sample in unanswered if sample.sent < closed and sample.seconds >= ACCEPTED_SECONDS]
