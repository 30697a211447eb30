"""Metrics: requests are counted whatever their end, and registries merge."""

from __future__ import annotations

import asyncio

import pytest
from prometheus_client import CollectorRegistry, Counter, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from shared.protocol.errors import ClientGoneError, OverloadedError
from shared.runtime.metrics import MergedCollector, ServerMetrics


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
    assert _value(metrics, "test_requests_total", pair="en-de", outcome=outcome) == 1
    assert _value(metrics, "test_request_seconds_sum", pair="en-de") == pytest.approx(0.2)


def test_request_without_pair_is_counted_as_other() -> None:
    metrics = ServerMetrics("test")
    with metrics.request_timer(lambda: 0.0):
        pass
    assert _value(metrics, "test_requests_total", pair="other", outcome="ok") == 1


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
