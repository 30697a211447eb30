"""The app: what it hosts, its context and its metrics."""

from __future__ import annotations

import pytest
from starlette.requests import Request

from apiserver.app import create_app
from apiserver.catalog.yaml_file import CatalogError
from apiserver.context import ApiServerContext, context
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
