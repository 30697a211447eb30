"""The metrics of a proxy."""

from __future__ import annotations

from proxy.metrics import ProxyMetrics

URL = "http://a:1"


def test_names_begin_with_the_prefix() -> None:
    assert all(metric.name.startswith("pairway_proxy_") for metric in ProxyMetrics().registry.collect())


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
