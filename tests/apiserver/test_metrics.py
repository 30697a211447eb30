"""The API server's metrics: names, labels and separate registries."""

from __future__ import annotations

from typing import get_args

from apiserver.guards import quality_guard
from apiserver.guards.quality_guard import OutputIssue
from apiserver.metrics import SEGMENT_STAGES, UNUSABLE_REASONS, ApiServerMetrics
from apiserver.translation.segment_attempts import Stage
from shared.protocol.priority import Priority


def test_metric_names_share_a_prefix_and_have_help() -> None:
    metrics = list(ApiServerMetrics().registry.collect())
    assert metrics
    own = [metric for metric in metrics if not metric.name.startswith(("process_", "python_gc_"))]
    assert all(metric.name.startswith("pairway_apiserver_") for metric in own)
    assert all(metric.documentation.endswith(".") for metric in own)


def test_segments_are_counted_by_pair_and_stage() -> None:
    metrics = ApiServerMetrics()
    metrics.segments.labels("en-de", "first").inc()
    labels = {"pair": "en-de", "stage": "first"}
    assert metrics.registry.get_sample_value("pairway_apiserver_segments_total", labels) == 1.0


def test_two_instances_share_nothing() -> None:
    first, second = ApiServerMetrics(), ApiServerMetrics()
    first.refused.labels("m", Priority.BULK).inc()
    labels = {"model": "m", "priority": "bulk"}
    assert second.registry.get_sample_value("pairway_apiserver_refused_total", labels) is None


def test_counters_of_a_hosted_model_begin_at_zero() -> None:
    metrics = ApiServerMetrics("0.1")
    metrics.start_model("m")
    metrics.start_pair("en-de")
    for name, labels in (
        ("refused", {"model": "m", "priority": "interactive"}),
        ("engine_starts", {"model": "m", "outcome": "failed"}),
        ("engine_deaths", {"model": "m"}),
        ("segments", {"pair": "en-de", "stage": "none"}),
        ("unusable_outputs", {"pair": "en-de", "reason": "output-empty"}),
        ("requests", {"pair": "en-de", "outcome": "internal", "class": "failed"}),
    ):
        assert metrics.registry.get_sample_value(f"pairway_apiserver_{name}_total", labels) == 0


def test_every_stage_and_unusable_issue_begins_at_zero() -> None:
    assert get_args(Stage) == SEGMENT_STAGES
    found = [each for each in vars(quality_guard).values() if isinstance(each, OutputIssue)]
    assert {each.code for each in found if not each.usable} == set(UNUSABLE_REASONS)


def test_model_has_one_revision_and_the_last_start() -> None:
    metrics = ApiServerMetrics()
    metrics.show_model("m", None)
    metrics.show_model("m", "1")
    metrics.show_model("m", "2")
    metrics.engine_started("m", 2.5)
    value = metrics.registry.get_sample_value
    assert value("pairway_apiserver_model_info", {"model": "m", "revision": "1"}) is None
    assert value("pairway_apiserver_model_info", {"model": "m", "revision": "2"}) == 1
    assert value("pairway_apiserver_engine_start_seconds", {"model": "m"}) == 2.5
    metrics.forget("m")
    assert value("pairway_apiserver_model_info", {"model": "m", "revision": "2"}) is None
    metrics.show_model("m", "2")
    assert value("pairway_apiserver_model_info", {"model": "m", "revision": "2"}) == 1
