"""The metrics of a proxy."""

from __future__ import annotations

import pytest

from proxy.admission import controller
from proxy.metrics import MAX_STARTED_PAIRS, SHED_REASONS, ProxyMetrics
from shared.protocol.priority import Priority
from shared.runtime.metrics import RequestSample

URL = "http://a:1"


def test_names_begin_with_the_prefix() -> None:
    prefixes = ("pairway_proxy_", "process_", "python_gc_")
    assert all(metric.name.startswith(prefixes) for metric in ProxyMetrics().registry.collect())


def test_forget_drops_the_series_of_a_replica() -> None:
    metrics = ProxyMetrics()
    metrics.attempts.labels(URL, "ok").inc()
    metrics.attempts.labels("http://b:1", "ok").inc()
    metrics.canaries.labels(URL, "good").inc()
    metrics.forget(URL)
    replicas = {
        sample.labels["replica"]
        for metric in metrics.registry.collect()
        for sample in metric.samples
        if "replica" in sample.labels
    }
    assert replicas == {"http://b:1"}
    metrics.attempts.labels(URL, "ok").inc()
    assert metrics.registry.get_sample_value("pairway_proxy_attempts_total", {"replica": URL, "outcome": "ok"}) == 1


def test_failing_replicas_are_counted_at_each_export() -> None:
    metrics, counts = ProxyMetrics(), {"en-de": 1}
    metrics.pair_failing.set_function(lambda: counts)

    def failing() -> float | None:
        return metrics.registry.get_sample_value("pairway_proxy_pair_failing_replicas", {"pair": "en-de"})

    assert failing() == 1
    counts["en-de"] = 2
    assert failing() == 2


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("requests", {"route": "en-de", "outcome": "pair-unavailable", "class": "failed"}),
        ("requests", {"route": "en-de", "outcome": "overloaded", "class": "refused"}),
        ("texts", {}),
        ("characters", {}),
        ("retries", {}),
        ("hedges", {}),
        ("coalesced", {}),
        ("cache_hits", {}),
        ("cache_misses", {}),
        ("shed", {"priority": "bulk", "reason": "late"}),
    ],
)
def test_counters_of_a_known_pair_begin_at_zero(name: str, labels: dict[str, str]) -> None:
    metrics = ProxyMetrics()
    metrics.start_pair("en-de")
    metrics.shed.labels("en-de", Priority.BULK, SHED_REASONS[0]).inc()
    assert metrics.registry.get_sample_value(f"pairway_proxy_{name}_total", {"pair": "en-de", **labels}) == 0
    for number in range(2 * MAX_STARTED_PAIRS):
        metrics.start_pair(f"a-b{number}")
    samples = [sample for sample in metrics.texts.collect()[0].samples if sample.name == "pairway_proxy_texts_total"]
    assert len(samples) == MAX_STARTED_PAIRS


def test_refusals_begin_at_zero() -> None:
    samples = {sample.labels["reason"] for sample in ProxyMetrics().refusals.collect()[0].samples}
    assert samples == {"none", "key", "scope", "requests", "characters", "unavailable"}


def test_every_reason_to_shed_begins_at_zero() -> None:
    assert controller.MESSAGES.keys() == set(SHED_REASONS)


def test_request_is_counted_as_asked_and_as_routed() -> None:
    metrics = ProxyMetrics()
    metrics.count_request(RequestSample("de-fr", "de-en+en-fr"), "ok", 0.2)
    labels = {"pair": "de-fr", "route": "de-en+en-fr", "outcome": "ok", "class": "ok"}
    assert metrics.registry.get_sample_value("pairway_proxy_requests_total", labels) == 1
    labels = {"pair": "de-fr", "class": "ok"}
    assert metrics.registry.get_sample_value("pairway_proxy_request_seconds_sum", labels) == pytest.approx(0.2)


def test_keys_have_counters_only_where_it_is_set() -> None:
    off, few = ProxyMetrics(), ProxyMetrics(max_keys=2)
    for metrics in (off, few):
        for key_id in ("a" * 12, "b" * 12, "c" * 12, "d" * 12, "a" * 12):
            metrics.count_key_requests(key_id)
            metrics.count_key_characters(key_id, 10)
        metrics.count_key_refund("c" * 12, 10)

    def found(metrics: ProxyMetrics, name: str) -> dict[str, float]:
        return {
            sample.labels["key"]: sample.value
            for family in metrics.registry.collect()
            for sample in family.samples
            if sample.name == f"pairway_proxy_key_{name}_total"
        }

    assert found(few, "requests") == {"a" * 12: 2, "b" * 12: 1, "none": 2}
    assert found(few, "characters") == {"a" * 12: 20, "b" * 12: 10, "none": 20}
    assert found(few, "refunded_characters") == {"none": 10}
    assert not any(found(off, name) for name in ("requests", "characters", "refunded_characters"))
