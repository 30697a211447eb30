"""Figures: differences of counters, sums of proxies, quantiles."""

from __future__ import annotations

import pytest

from proxy.metrics import ProxyMetrics
from proxy.status.figures import MAX_CODES, OTHER_CODE, SlotFigures, Totals, merged, quantile
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


def test_difference_without_requests_is_empty() -> None:
    metrics = ProxyMetrics()
    count(metrics, "ok")
    found = totals(metrics).since(totals(metrics), slot=1)
    assert found == SlotFigures(slot=1)


def test_rare_codes_are_counted_as_others() -> None:
    outcomes = {f"code-{n}": 100 - n for n in range(MAX_CODES + 3)}
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
