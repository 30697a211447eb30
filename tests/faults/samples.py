"""What the samples of a load in a fault say. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from benchmarks.harness.load import Sample

# What a client may be answered while a replica, a proxy or Redis is in trouble.
CLEAR_CODES = frozenset({"pair-unavailable", "overloaded", "replica-failed", "deadline-exceeded"})


def is_clear(sample: Sample) -> bool:
    """Whether it was served rightly or refused as the contract says."""
    if sample.status == 200:
        return not sample.failed
    return sample.code in CLEAR_CODES and (sample.retry_after >= 0 or sample.status != 503)


def sent_between(samples: Iterable[Sample], since: float, until: float) -> list[Sample]:
    """Return those sent in the time."""
    return [sample for sample in samples if since <= sample.sent < until]


def failed_percent(samples: Sequence[Sample]) -> float:
    return 100 * sum(sample.failed for sample in samples) / len(samples) if samples else math.nan


def share_of(samples: Sequence[Sample], model: str) -> float:
    """Return the part of the right translations that the model gave, 0 to 1."""
    right = [sample for sample in samples if not sample.failed]
    return sum(sample.model == model for sample in right) / len(right) if right else math.nan
