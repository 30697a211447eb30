"""Figures: differences of counters, sums of proxies, quantiles."""

from __future__ import annotations

import pytest

from proxy.metrics import ProxyMetrics
from proxy.status.figure_ring import (
    MAX_CODES,
    MAX_PAIRS,
    MINUTE_SLOTS,
    OTHER_CODE,
    SLOT_SECONDS,
    SLOTS,
    FigureRing,
    SlotFigures,
    Totals,
    class_of_reason,
    merged,
    quantile,
    slot_at,
)
from shared.protocol.errors import OutcomeClass
from shared.runtime.metrics import LATENCY_BUCKETS, RequestSample


def totals(metrics: ProxyMetrics) -> Totals:
    return Totals.of(metrics.requests, metrics.seconds)


def count(metrics: ProxyMetrics, outcome: str, seconds: float = 0.03, times: int = 1, pair: str = "en-de") -> None:
    for _ in range(times):
        metrics.count_request(RequestSample(pair, pair), outcome, seconds)


def test_difference_counts_classes_codes_and_durations() -> None:
    metrics = ProxyMetrics()
    count(metrics, "ok", times=5)
    before = totals(metrics)
    count(metrics, "ok", 0.03, times=2)
    count(metrics, "ok", 0.2, pair="en-fr")
    count(metrics, "overloaded")
    count(metrics, "rate-limited")
    count(metrics, "invalid-request")
    count(metrics, "replica-failed", 70.0)
    found = totals(metrics).since(before, slot=7)
    assert found.slot == 7
    assert found.classes == {"ok": 3, "refused": 2, "client": 1, "failed": 1}
    assert found.codes == {"overloaded": 1, "rate-limited": 1, "invalid-request": 1, "replica-failed": 1}
    assert sum(found.buckets.values()) == 3, "only successful requests are timed"


def test_failure_that_its_caller_chose_is_a_reason_of_its_own() -> None:
    metrics = ProxyMetrics()
    before = totals(metrics)
    count(metrics, "deadline-exceeded")
    metrics.count_request(RequestSample("en-de", outcome_class="client"), "deadline-exceeded", 0.1)
    found = totals(metrics).since(before, slot=1)
    assert found.classes == {"failed": 1, "client": 1}
    assert found.codes == {"deadline-exceeded": 1, "deadline-exceeded (client)": 1}
    assert {reason: class_of_reason(reason) for reason in found.codes} == {
        "deadline-exceeded": "failed",
        "deadline-exceeded (client)": "client",
    }


def test_difference_without_requests_is_empty() -> None:
    metrics = ProxyMetrics()
    count(metrics, "ok")
    found = totals(metrics).since(totals(metrics), slot=1)
    assert found == SlotFigures(slot=1)


def test_rare_codes_are_counted_as_others() -> None:
    outcomes: dict[tuple[str, OutcomeClass], int] = {(f"code-{n}", "failed"): 100 - n for n in range(MAX_CODES + 3)}
    found = Totals(outcomes, [0] * 15).since(Totals({}, [0] * 15), slot=1)
    assert len(found.codes) == MAX_CODES + 1
    assert found.codes[OTHER_CODE] == 92 + 91 + 90
    assert found.classes["failed"] == sum(outcomes.values())


def test_merged_figures_add_up_by_slot() -> None:
    one = SlotFigures(slot=1, classes={"ok": 2}, codes={"overloaded": 1}, buckets={0: 2})
    two = SlotFigures(
        slot=1, classes={"ok": 3, "failed": 1}, codes={"overloaded": 1, OTHER_CODE: 1}, buckets={0: 1, 4: 2}
    )
    later = SlotFigures(slot=2, classes={"ok": 1})
    assert merged([one, later, two]) == {
        1: SlotFigures(
            slot=1, classes={"ok": 5, "failed": 1}, codes={"overloaded": 2, OTHER_CODE: 1}, buckets={0: 3, 4: 2}
        ),
        2: later,
    }


@pytest.mark.parametrize(
    ("buckets", "share", "seconds"),
    [
        ({}, 0.5, None),
        ({0: 0}, 0.5, None),
        ({0: 2}, 0.5, LATENCY_BUCKETS[0] / 2),
        ({1: 1}, 1.0, LATENCY_BUCKETS[1]),
        ({0: 1, 3: 1}, 0.5, LATENCY_BUCKETS[0]),
        ({0: 90, 3: 10}, 0.95, 0.025 + 0.025 / 2),
        ({len(LATENCY_BUCKETS): 1}, 0.5, LATENCY_BUCKETS[-1]),
    ],
)
def test_quantile_is_linear_within_a_bucket(buckets: dict[int, int], share: float, seconds: float | None) -> None:
    assert quantile(buckets, share) == (None if seconds is None else pytest.approx(seconds))


START = 1_000_000.0


class Counters:
    """Counters that grow by hand."""

    def __init__(self) -> None:
        self.ok = 0

    def __call__(self) -> Totals:
        return Totals({("ok", "ok"): self.ok}, [self.ok, *[0] * 14])


def oks(ring: FigureRing) -> list[tuple[int, int]]:
    return [(each.slot - slot_at(START), each.classes.get("ok", 0)) for each in ring.slots]


def test_slot_closes_when_its_time_is_over() -> None:
    counters = Counters()
    counters.ok = 100  # before the ring
    ring = FigureRing(counters, START)
    counters.ok += 3
    assert not ring.close_slot(START + 9.9)
    assert oks(ring) == []
    assert ring.close_slot(START + 10.1)
    counters.ok += 1
    assert not ring.close_slot(START + 12)
    assert ring.close_slot(START + 20)
    assert oks(ring) == [(0, 3), (1, 1)]


def test_pause_leaves_slots_out() -> None:
    counters = Counters()
    ring = FigureRing(counters, START)
    counters.ok += 3
    assert ring.close_slot(START + 55)
    assert ring.close_slot(START + 60)
    assert oks(ring) == [(0, 3), (5, 0)]


def test_ring_keeps_15_minutes() -> None:
    ring = FigureRing(Counters(), START)
    for slot in range(1, 3 * SLOTS):
        ring.close_slot(START + slot * SLOT_SECONDS)
    assert len(ring.slots) == SLOTS
    assert (ring.slots[-1].slot - ring.slots[0].slot + 1) * SLOT_SECONDS == 900
    ring.close_slot(START + 100_000)
    assert len(ring.slots) == 0, "all are too old"


def test_minute_counts_requests_and_failures_by_pair() -> None:
    metrics = ProxyMetrics()
    count(metrics, "ok", times=9)  # before the ring
    ring = FigureRing(lambda: totals(metrics), START)
    count(metrics, "ok", times=2)
    count(metrics, "overloaded")
    count(metrics, "replica-failed")
    count(metrics, "invalid-request", times=5)
    count(metrics, "ok", pair="en-fr")
    assert ring.minute() == {}, "its slot is open"
    ring.close_slot(START + 10)
    count(metrics, "ok", pair="en-fr")
    for slot in range(2, MINUTE_SLOTS + 1):
        ring.close_slot(START + slot * SLOT_SECONDS)
    assert ring.minute() == {"en-de": (4, 1), "en-fr": (2, 0)}
    ring.close_slot(START + (MINUTE_SLOTS + 1) * SLOT_SECONDS)
    assert ring.minute() == {"en-fr": (1, 0)}
    ring.close_slot(START + 100_000)
    assert ring.minute() == {}, "after a pause"


def test_minute_names_the_busiest_pairs() -> None:
    metrics = ProxyMetrics()
    ring = FigureRing(lambda: totals(metrics), START)
    for number in range(MAX_PAIRS + 5):
        count(metrics, "ok", times=number + 1, pair=f"en-x{number}")
    ring.close_slot(START + 10)
    found = ring.minute()
    assert (len(found), min(found.values())) == (MAX_PAIRS, (6, 0))


def test_clock_set_back_replaces_slots() -> None:
    counters = Counters()
    ring = FigureRing(counters, START)
    for slot in range(1, 6):
        counters.ok += 1
        ring.close_slot(START + slot * SLOT_SECONDS)
    counters.ok += 7
    assert ring.close_slot(START + 21)
    assert ring.close_slot(START + 31)
    assert oks(ring) == [(0, 1), (1, 7), (2, 0)]
