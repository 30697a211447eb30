"""The composition root: hosts, context and lifespan of the API server."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from apiserver.app import create_app
from apiserver.catalog.yaml_file import CatalogError
from apiserver.context import ApiServerContext
from apiserver.settings import ApiServerSettings
from tests.support.scripted_engine import ScriptedFactory
from tests.support.waiting import wait_until


def test_create_app_hosts_every_model_of_the_catalog(settings_for: Callable[..., ApiServerSettings]) -> None:
    app = create_app(settings_for(), ScriptedFactory())
    context: ApiServerContext = app.state.context
    assert [host.entry.name for host in context.model_server.hosts] == ["en-de", "en-fr"]
    assert [loop.name for loop in context.loops] == ["host:en-de", "host:en-fr"]


def test_create_app_hosts_the_named_models_alone(settings_for: Callable[..., ApiServerSettings]) -> None:
    app = create_app(settings_for(models=("en-fr",)), ScriptedFactory())
    context: ApiServerContext = app.state.context
    assert [host.entry.name for host in context.model_server.hosts] == ["en-fr"]


def test_create_app_refuses_a_wrong_catalog(settings_for: Callable[..., ApiServerSettings]) -> None:
    with pytest.raises(CatalogError, match=r"models\.m"):
        create_app(settings_for("models: {m: {}}"), ScriptedFactory())


async def test_lifespan_starts_and_stops_the_engines(settings_for: Callable[..., ApiServerSettings]) -> None:
    factory = ScriptedFactory()
    app = create_app(settings_for(), factory)
    async with app.router.lifespan_context(app):
        hosts = app.state.context.model_server.hosts
        await wait_until(lambda: all(host.engine is not None for host in hosts), 5)
        assert not any(factory.engine(name).stopped for name in ("en-de", "en-fr"))
    assert all(factory.engine(name).stopped for name in ("en-de", "en-fr"))
