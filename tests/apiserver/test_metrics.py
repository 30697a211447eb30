"""The API server's metrics: names, labels and separate registries."""

from __future__ import annotations

from apiserver.metrics import ApiServerMetrics


def test_metric_names_share_a_prefix_and_have_help() -> None:
    metrics = list(ApiServerMetrics().registry.collect())
    assert metrics
    assert all(metric.name.startswith("pairway_apiserver_") for metric in metrics)
    assert all(metric.documentation.endswith(".") for metric in metrics)


def test_segments_are_counted_by_pair_and_stage() -> None:
    metrics = ApiServerMetrics()
    metrics.segments.labels("en-de", "first").inc()
    labels = {"pair": "en-de", "stage": "first"}
    assert metrics.registry.get_sample_value("pairway_apiserver_segments_total", labels) == 1.0


def test_two_instances_share_nothing() -> None:
    first, second = ApiServerMetrics(), ApiServerMetrics()
    first.refused.labels("m", "bulk").inc()
    labels = {"model": "m", "priority": "bulk"}
    assert second.registry.get_sample_value("pairway_apiserver_refused_total", labels) is None
