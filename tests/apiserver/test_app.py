"""The app: what it hosts, its context and its metrics."""

from __future__ import annotations

from typing import get_args

import pytest
from starlette.requests import Request

from apiserver.app import create_app
from apiserver.catalog.yaml_file import CatalogError
from apiserver.context import ApiServerContext, context
from apiserver.guards import issues
from apiserver.guards.issues import OutputIssue
from apiserver.metrics import SEGMENT_STAGES, UNUSABLE_REASONS, ApiServerMetrics
from apiserver.translation.segment_attempts import Stage
from shared.protocol.priority import Priority
from tests.apiserver.conftest import SettingsFor
from tests.support.scripted_engine import ScriptedFactory
from tests.support.waiting import wait_until


def test_create_app_hosts_every_model_of_the_catalog(settings_for: SettingsFor) -> None:
    app = create_app(settings_for(), ScriptedFactory())
    context: ApiServerContext = app.state.context
    assert [host.entry.name for host in context.model_server.hosts] == ["en-de", "en-fr"]
    assert [loop.name for loop in context.loops] == ["host:en-de", "host:en-fr"]


def test_create_app_hosts_the_named_models_alone(settings_for: SettingsFor) -> None:
    app = create_app(settings_for(models=("en-fr",)), ScriptedFactory())
    context: ApiServerContext = app.state.context
    assert [host.entry.name for host in context.model_server.hosts] == ["en-fr"]


def test_create_app_refuses_a_wrong_catalog(settings_for: SettingsFor) -> None:
    with pytest.raises(CatalogError, match=r"models\.m"):
        create_app(settings_for("models: {m: {}}"), ScriptedFactory())


async def test_lifespan_starts_and_stops_the_engines(settings_for: SettingsFor) -> None:
    factory = ScriptedFactory()
    app = create_app(settings_for(), factory)
    async with app.router.lifespan_context(app):
        hosts = app.state.context.model_server.hosts
        await wait_until(lambda: all(host.engine is not None for host in hosts), 5)
        assert not any(factory.engine(name).stopped for name in ("en-de", "en-fr"))
    assert all(factory.engine(name).stopped for name in ("en-de", "en-fr"))


def test_context_is_that_of_the_requests_app(settings_for: SettingsFor) -> None:
    app = create_app(settings_for(), ScriptedFactory())
    assert context(Request({"type": "http", "app": app})) is app.state.context


async def test_collector_joins_server_and_engines(settings_for: SettingsFor) -> None:
    factory = ScriptedFactory()
    app = create_app(settings_for(), factory)
    async with app.router.lifespan_context(app):
        parts = context(Request({"type": "http", "app": app}))
        await wait_until(lambda: all(host.engine is not None for host in parts.model_server.hosts), 5)
        metrics = {metric.name: metric for metric in parts.collector().collect()}
    models = {sample.labels["model_name"] for sample in metrics["vllm:num_requests_running"].samples}
    assert models == {"en-de", "en-fr"}
    loops = {sample.labels["loop"] for sample in metrics["pairway_apiserver_loop_age_seconds"].samples}
    assert loops == {"host:en-de", "host:en-fr"}


def test_collector_without_engines_has_the_servers_metrics(settings_for: SettingsFor) -> None:
    app = create_app(settings_for(), ScriptedFactory())
    names = {metric.name for metric in context(Request({"type": "http", "app": app})).collector().collect()}
    assert "pairway_apiserver_limit_units" in names
    assert not any(name.startswith("vllm:") for name in names)


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
    found = [each for each in vars(issues).values() if isinstance(each, OutputIssue)]
    assert {each.code for each in found if not each.usable} == set(UNUSABLE_REASONS)
