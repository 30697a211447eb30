"""Metrics: requests are counted whatever their end, and registries merge."""

from __future__ import annotations

import asyncio
import platform
from random import Random

import pytest
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from shared.protocol.errors import ClientGoneError, OverloadedError, outcome_class
from shared.runtime.background import Loop
from shared.runtime.metrics import (
    LAG_TIMER_SECONDS,
    LATENCY_BUCKETS,
    MAX_PAIRS,
    MergedCollector,
    RequestSample,
    ServerMetrics,
)
from shared.version import VERSION
from tests.support.clock import HandClock


def _value(metrics: ServerMetrics, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(name, labels)


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (None, "ok"),
        (OverloadedError("full"), "overloaded"),
        (ClientGoneError(), "client-gone"),
        (asyncio.CancelledError(), "client-gone"),
        (ZeroDivisionError(), "internal"),
    ],
)
def test_request_is_counted_once_with_its_outcome(error: BaseException | None, outcome: str) -> None:
    metrics = ServerMetrics("test")
    times = iter([10.0, 10.2])

    def ask() -> None:
        with metrics.request_timer(lambda: next(times)) as measured:
            assert _value(metrics, "test_requests_in_flight") == 1
            measured.pair = "en-de"
            if error is not None:
                raise error

    if error is None:
        ask()
    else:
        with pytest.raises(type(error)):
            ask()
    assert _value(metrics, "test_requests_in_flight") == 0
    labels = {"pair": "en-de", "class": outcome_class(outcome)}
    assert _value(metrics, "test_requests_total", outcome=outcome, **labels) == 1
    assert _value(metrics, "test_request_seconds_sum", **labels) == pytest.approx(0.2)


def test_request_without_pair_is_counted_as_other() -> None:
    metrics = ServerMetrics("test")
    with metrics.request_timer(lambda: 0.0):
        pass
    assert _value(metrics, "test_requests_total", pair="other", outcome="ok", **{"class": "ok"}) == 1


def test_merged_collector_joins_samples_of_one_metric() -> None:
    registries: list[CollectorRegistry] = []
    for engine in ("a", "b"):
        registry = CollectorRegistry()
        Counter("tokens", f"Tokens of {engine}.", ["engine"], registry=registry).labels(engine).inc(2)
        registries.append(registry)
    merged = MergedCollector(*registries)
    for _ in range(2):  # collecting must leave no trace
        text = generate_latest(merged).decode()  # pyright: ignore[reportArgumentType] - as in shared.http.probes
        assert text.count("# TYPE tokens_total counter") == 1
        families = {family.name: family for family in text_string_to_metric_families(text)}
        found = {
            sample.labels["engine"]: sample.value for sample in families["tokens"].samples if "_total" in sample.name
        }
        assert found == {"a": 2, "b": 2}


def test_two_apps_share_a_process() -> None:
    ServerMetrics("test")
    ServerMetrics("test")


def test_own_families_read_like_those_of_prometheus_client() -> None:
    ours, theirs = ServerMetrics("test"), CollectorRegistry()
    own_counter, own_histogram = (
        ours.counter("a_total", 'A "b"\\c', ["x", "y"]),
        ours.histogram("h_seconds", "H.", ["x"]),
    )
    counter = Counter("a_total", 'A "b"\\c', ["x", "y"], registry=theirs)
    histogram = Histogram("h_seconds", "H.", ["x"], registry=theirs, buckets=LATENCY_BUCKETS)
    for one in (own_counter, counter):
        one.labels("en-de", 'quoted "z"').inc()
        one.labels("en-de", "ok").inc(3)
        one.labels("never", "counted")
    for one in (own_histogram, histogram):
        for seconds in (0.0, 0.005, 0.0051, 1.0, 60.0, 61.0):
            one.labels("en-de").observe(seconds)
    for each in (own_counter, own_histogram):
        lines = [line for line in generate_latest(each).decode().splitlines() if "_created" not in line]  # pyright: ignore[reportArgumentType] - as in shared.http.probes
        expected = counter if each is own_counter else histogram
        assert lines == [line for line in generate_latest(expected).decode().splitlines() if "_created" not in line]  # pyright: ignore[reportArgumentType] - the same


def test_removed_series_are_gone_and_begin_at_zero_again() -> None:
    metrics = ServerMetrics("test")
    counter = metrics.counter("a_total", "A.", ["pair", "outcome"])
    for pair, outcome in (("en-de", "ok"), ("en-de", "internal"), ("en-fr", "ok")):
        counter.labels(pair, outcome).inc()
    counter.remove("pair", "en-de")
    assert _value(metrics, "a_total", pair="en-de", outcome="ok") is None
    assert _value(metrics, "a_total", pair="en-fr", outcome="ok") == 1
    counter.labels("en-de", "ok").inc()
    assert _value(metrics, "a_total", pair="en-de", outcome="ok") == 1


def test_unknown_code_counts_as_failed() -> None:
    metrics = ServerMetrics("test")
    metrics.count_request(RequestSample("en-de"), "code-of-a-newer-version", 1.0)
    assert _value(metrics, "test_request_seconds_count", pair="en-de", **{"class": "failed"}) == 1


def test_counters_of_a_known_pair_begin_at_zero() -> None:
    metrics = ServerMetrics("test")
    metrics.start_pair("en-de")
    for outcome in ("ok", "pair-unavailable", "overloaded", "internal"):
        labels = {"pair": "en-de", "outcome": outcome, "class": outcome_class(outcome)}
        assert _value(metrics, "test_requests_total", **labels) == 0
    assert _value(metrics, "test_texts_total", pair="en-de") == 0
    metrics.count_texts("en-de", 2, 30)
    metrics.start_pair("en-de")
    assert _value(metrics, "test_texts_total", pair="en-de") == 2
    assert _value(metrics, "test_characters_total", pair="en-de") == 30


def test_first_value_of_a_pair_starts_its_other_series() -> None:
    metrics = ServerMetrics("test")
    counter = metrics.counter("a_total", "A.", ["pair", "route", "reason"], [("full",), ("late",)])
    counter.labels("de-fr", "de-en+en-fr", "full").inc(3)
    counter.labels("de-fr", "de-en+en-fr", "else").inc()
    found = {tuple(sample.labels.values()): sample.value for sample in counter.collect()[0].samples if sample.value < 9}
    assert {labels[2]: value for labels, value in found.items()} == {"full": 3, "late": 0, "else": 1}
    assert {labels[:2] for labels in found} == {("de-fr", "de-en+en-fr")}


def test_pairs_beyond_the_bound_are_counted_as_other() -> None:
    metrics = ServerMetrics("test")
    counter = metrics.counter("a_total", "A.", ["pair", "reason"], [("full",)])
    replicas = metrics.counter("b_total", "B.", ["replica", "outcome"])
    for number in range(MAX_PAIRS + 50):
        counter.labels(f"a-b{number}", "full").inc()
        replicas.labels(f"http://{number}", "ok").inc()
    counter.labels("a-b0", "full").inc()
    counter.labels(f"a-b{MAX_PAIRS}", "late").inc()
    samples = [sample for sample in counter.collect()[0].samples if sample.name == "a_total"]
    assert len(samples) == MAX_PAIRS + 2
    assert _value(metrics, "a_total", pair="other", reason="full") == 50
    assert _value(metrics, "a_total", pair="other", reason="late") == 1
    assert _value(metrics, "a_total", pair="a-b0", reason="full") == 2
    assert _value(metrics, "b_total", replica=f"http://{MAX_PAIRS + 49}", outcome="ok") == 1


def test_build_and_process_are_described() -> None:
    metrics = ServerMetrics("test", engine="1.2")
    labels = {"version": VERSION, "python": platform.python_version(), "engine": "1.2"}
    assert _value(metrics, "test_build_info", **labels) == 1
    assert (_value(metrics, "process_start_time_seconds") or 0) > 1e9
    assert _value(metrics, "python_gc_collections_total", generation="2") is not None


async def test_lag_is_the_time_by_which_a_timer_is_late() -> None:
    metrics, times = ServerMetrics("test"), iter([0.0, 10.0, 10.0 + LAG_TIMER_SECONDS + 1.5, 12.0])
    await metrics.lag_loop(lambda: next(times), Random(1)).tick()  # noqa: S311 - jitter, not secrets
    assert _value(metrics, "test_event_loop_lag_seconds_count") == 1
    assert _value(metrics, "test_event_loop_lag_seconds_sum") == 1.5


def test_loops_are_read_at_each_export() -> None:
    metrics, clock = ServerMetrics("test"), HandClock(0.0)
    loops = [Loop(name, seconds, _nothing, clock, Random(1)) for name, seconds in (("often", 1.0), ("seldom", 3600.0))]  # noqa: S311
    metrics.watch_loops(lambda: loops)
    clock.now = 100.0
    assert _value(metrics, "test_loop_age_seconds", loop="seldom") == 100
    assert _value(metrics, "test_loop_stale", loop="seldom") == 0, "each loop has a bound of its own"
    assert _value(metrics, "test_loop_stale", loop="often") == 1
    del loops[0]
    assert _value(metrics, "test_loop_stale", loop="often") is None, "a loop that ended leaves no series"


async def _nothing() -> None:
    pass
