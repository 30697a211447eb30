"""Figures of ten seconds, and those of 15 minutes."""

from __future__ import annotations

import heapq
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Final, cast

from pydantic import BaseModel, ConfigDict, Field

from shared.languages import MAX_TAG_LENGTH
from shared.protocol.errors import OK, OutcomeClass, outcome_class
from shared.runtime.metrics import LATENCY_BUCKETS, Count, DurationHistogram, MetricFamily

SLOT_SECONDS: Final = 10
# Codes with a count of their own in a slot, the most frequent first; others are counted as OTHER_CODE.
MAX_CODES: Final = 8
OTHER_CODE: Final = "other"
# Ends the reason of requests that failed by their callers' choice.
CHOSEN: Final = " (client)"
# Slots of a minute, and the pairs of one that are told apart, the busiest first: 100 take at most 9 kB of a summary.
MINUTE_SLOTS: Final = 6
MAX_PAIRS: Final = 100
MAX_LABEL_CHARS: Final = 2 * MAX_TAG_LENGTH + 1

Amount = Annotated[int, Field(ge=0)]
# By pair as asked: requests without clients' errors, and those that failed.
PairCounts = dict[Annotated[str, Field(max_length=MAX_LABEL_CHARS)], tuple[Amount, Amount]]
BucketIndex = Annotated[int, Field(ge=0, le=len(LATENCY_BUCKETS))]


class SlotFigures(BaseModel):
    """Requests of the ``SLOT_SECONDS`` from Unix time ``slot * SLOT_SECONDS``.

    ``codes`` are reasons: outcomes except ok, as :func:`reason_of`; ``buckets``: durations of successful requests by index in ``LATENCY_BUCKETS``.
    Zeros are left out.
    """

    model_config = ConfigDict(frozen=True)

    slot: int
    classes: dict[OutcomeClass, Amount] = Field(default_factory=dict[OutcomeClass, int])
    codes: dict[Annotated[str, Field(max_length=64)], Amount] = Field(
        default_factory=dict[str, int], max_length=MAX_CODES + 1
    )
    buckets: dict[BucketIndex, Amount] = Field(default_factory=dict[int, int])


@dataclass(frozen=True, slots=True)
class Totals:
    """Counters at one moment: requests, and durations of successful ones."""

    outcomes: Mapping[tuple[str, OutcomeClass], int]
    buckets: Sequence[int]
    pairs: PairCounts = field(default_factory=dict[str, tuple[int, int]])

    @classmethod
    def of(cls, requests: MetricFamily[Count], seconds: MetricFamily[DurationHistogram]) -> Totals:
        """Sum the counters ``requests`` and ``seconds`` of ``ServerMetrics``."""
        outcomes: Counter[tuple[str, OutcomeClass]] = Counter()
        pairs: PairCounts = {}
        for (pair, *_, outcome, kind), count in requests.items():
            outcomes[outcome, cast("OutcomeClass", kind)] += count.value
            if kind != "client":
                every, failed = pairs.get(pair, (0, 0))
                pairs[pair] = every + count.value, failed + (count.value if kind == "failed" else 0)
        durations = [each.buckets for (_, outcome), each in seconds.items() if outcome == OK]
        empty = [0] * (len(LATENCY_BUCKETS) + 1)
        return cls(outcomes, [sum(column) for column in zip(empty, *durations, strict=True)], pairs)

    def since(self, before: Totals, slot: int) -> SlotFigures:
        """Return what was counted after ``before``."""
        classes: Counter[OutcomeClass] = Counter()
        reasons: Counter[str] = Counter()
        for key, count in self.outcomes.items():
            if (more := count - before.outcomes.get(key, 0)) > 0:
                classes[key[1]] += more
                reasons[reason_of(*key)] += more
        pairs = zip(self.buckets, before.buckets, strict=True)
        buckets = {index: new - old for index, (new, old) in enumerate(pairs) if new > old}
        return SlotFigures(slot=slot, classes=dict(classes), codes=_most_frequent(reasons), buckets=buckets)

    def pairs_since(self, before: Totals) -> PairCounts:
        """Return what was counted after ``before`` by pair."""
        more: PairCounts = {}
        for pair, (every, failed) in self.pairs.items():
            old_every, old_failed = before.pairs.get(pair, (0, 0))
            if every > old_every:
                more[pair] = every - old_every, failed - old_failed
        return more


def reason_of(code: str, kind: OutcomeClass) -> str:
    """Return a code, marked where its callers chose the failure."""
    return code if kind == outcome_class(code) else code + CHOSEN


def class_of_reason(reason: str) -> OutcomeClass:
    """Return the class of a reason."""
    return "client" if reason.endswith(CHOSEN) else outcome_class(reason)


def summed_pairs(counts: Iterable[PairCounts]) -> PairCounts:
    """Return sums by pair."""
    sums: PairCounts = {}
    for pair, (every, failed) in (item for each in counts for item in each.items()):
        old_every, old_failed = sums.get(pair, (0, 0))
        sums[pair] = old_every + every, old_failed + failed
    return sums


def merged(figures: Iterable[SlotFigures]) -> dict[int, SlotFigures]:
    """Return the sums of several proxies' figures, by slot."""
    by_slot: dict[int, list[SlotFigures]] = {}
    for each in figures:
        by_slot.setdefault(each.slot, []).append(each)
    return {slot: summed(slot, found) for slot, found in by_slot.items()}


def summed(slot: int, figures: Iterable[SlotFigures]) -> SlotFigures:
    """Return the sum of figures, as those of one slot."""
    classes: Counter[OutcomeClass] = Counter()
    codes: Counter[str] = Counter()
    buckets: Counter[int] = Counter()
    for each in figures:
        classes.update(each.classes)
        codes.update(each.codes)
        buckets.update(each.buckets)
    return SlotFigures(slot=slot, classes=dict(classes), codes=_most_frequent(codes), buckets=dict(buckets))


def quantile(buckets: Mapping[int, int], share: float) -> float | None:
    """Return a quantile of durations; None without requests.

    Linear within a bucket, as in Prometheus; at most the last bound.
    """
    rank = share * sum(buckets.values())
    if not rank:
        return None
    below = 0
    for index in sorted(buckets):
        count = buckets[index]
        if below + count >= rank and count:
            if index >= len(LATENCY_BUCKETS):
                break
            lower = LATENCY_BUCKETS[index - 1] if index else 0.0
            return lower + (LATENCY_BUCKETS[index] - lower) * (rank - below) / count
        below += count
    return LATENCY_BUCKETS[-1]


def _most_frequent(outcomes: Mapping[str, int]) -> dict[str, int]:
    codes = Counter({code: count for code, count in outcomes.items() if code not in {OK, OTHER_CODE}})
    kept = dict(codes.most_common(MAX_CODES))
    others = codes.total() - sum(kept.values()) + outcomes.get(OTHER_CODE, 0)
    return kept | ({OTHER_CODE: others} if others else {})


# 15 minutes.
SLOTS: Final = 90


class FigureRing:
    """Figures of the last ``SLOTS`` slots; ``totals`` reads the counters.

    Slots begin at multiples of ten seconds, so several proxies' can be added.
    """

    def __init__(self, totals: Callable[[], Totals], now: float) -> None:
        self._totals = totals
        self._slot = slot_at(now)
        self._before = totals()
        self.slots: deque[SlotFigures] = deque(maxlen=SLOTS)
        self._minute: deque[tuple[int, PairCounts]] = deque(maxlen=MINUTE_SLOTS)

    def close_slot(self, now: float) -> bool:
        """Close the open slot if its time is over; return whether.

        All since the slot before belongs to it, also after a pause.
        """
        slot = slot_at(now)
        if slot == self._slot:
            return False
        totals = self._totals()
        if slot < self._slot:  # the clock was set back: these slots come again
            self.slots = deque((each for each in self.slots if each.slot < slot - 1), maxlen=SLOTS)
            self._slot = slot - 1
        self.slots.append(totals.since(self._before, self._slot))
        self._minute.append((self._slot, totals.pairs_since(self._before)))
        while self.slots and self.slots[0].slot <= slot - 1 - SLOTS:
            self.slots.popleft()
        self._slot, self._before = slot, totals
        return True

    def minute(self) -> PairCounts:
        """Return the last closed minute by pair, the ``MAX_PAIRS`` busiest."""
        last = self._slot - 1
        sums = summed_pairs(pairs for slot, pairs in self._minute if last - MINUTE_SLOTS < slot <= last)
        return dict(heapq.nlargest(MAX_PAIRS, sums.items(), key=lambda each: each[1]))


def slot_at(now: float) -> int:
    """Return the number of the slot that contains a Unix time."""
    return int(now // SLOT_SECONDS)
