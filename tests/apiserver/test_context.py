"""The context: the app's parts for a request, and metrics of server and engines as one."""

from __future__ import annotations

from collections.abc import Callable

from starlette.requests import Request

from apiserver.app import create_app
from apiserver.context import context
from apiserver.settings import ApiServerSettings
from tests.support.scripted_engine import ScriptedFactory
from tests.support.waiting import wait_until


def test_context_is_that_of_the_requests_app(settings_for: Callable[..., ApiServerSettings]) -> None:
    app = create_app(settings_for(), ScriptedFactory())
    assert context(Request({"type": "http", "app": app})) is app.state.context


async def test_collector_joins_server_and_engines(settings_for: Callable[..., ApiServerSettings]) -> None:
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


def test_collector_without_engines_has_the_servers_metrics(settings_for: Callable[..., ApiServerSettings]) -> None:
    app = create_app(settings_for(), ScriptedFactory())
    names = {metric.name for metric in context(Request({"type": "http", "app": app})).collector().collect()}
    assert "pairway_apiserver_limit_units" in names
    assert not any(name.startswith("vllm:") for name in names)
