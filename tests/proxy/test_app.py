"""The app as it is composed: its routes, and what its lifespan opens and closes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute

from proxy.app import create_app, create_operator_app
from proxy.cache.redis_cache import RedisCache
from proxy.context import ProxyContext
from proxy.fleet.prober import Prober
from proxy.keys.quota import KeyMeter
from proxy.keys.store import KeyStore
from proxy.settings import ProxySettings
from proxy.storage.lease import LeaderLease
from tests.proxy.proxies import nowhere

OPERATOR_PATHS = {
    "/fleet",
    "/fleet/expected",
    "/metrics",
    "/fleet/replicas",
    "/fleet/replicas/drain",
    "/fleet/replicas/resume",
    "/keys",
    "/keys/{key_id}",
    "/status/data",
    "/status/stream",
}
CLIENT_PATHS = {"/translate", "/detect", "/usage", "/health", "/languages", "/livez", "/readyz", "/startupz"} | {
    "/glossaries",
    "/glossaries/{glossary_id}",
    "/glossaries/{glossary_id}/dictionaries/{source_lang}/{target_lang}",
}


def settings(**values: object) -> ProxySettings:
    return ProxySettings.model_validate({"redis_url": nowhere(), "replicas": "http://127.0.0.1:1", **values})


def paths(app: FastAPI) -> set[str]:
    return {route.path for route in app.routes if isinstance(route, APIRoute)}


def test_one_port_serves_clients_and_operators() -> None:
    assert paths(create_app(settings(compat=""))) == CLIENT_PATHS | OPERATOR_PATHS


def test_operator_port_takes_operator_routes_away() -> None:
    app = create_app(settings(operator_port=9000, compat=""))
    assert paths(app) == CLIENT_PATHS
    assert paths(create_operator_app(app)) == OPERATOR_PATHS


async def test_lifespan_runs_and_ends_its_loops() -> None:
    app = create_app(settings())
    before = asyncio.all_tasks()
    async with app.router.lifespan_context(app):
        context: ProxyContext = app.state.context
        names = [loop.name for loop in context.process.loops]
        assert names == ["prober", "unhealthy", "lease", "canaries", "glossaries", "status", "lag"]
        assert {task.get_name() for task in asyncio.all_tasks() - before} >= set(names)
        assert context.fleet.registry.redis_is_away
        (age,) = context.process.metrics.loop_age.collect()
        assert {sample.labels["loop"] for sample in age.samples} == set(names)  # by whatever reads the registry
    assert not {task.get_name() for task in asyncio.all_tasks() - before} & set(names)


async def test_cache_in_redis_has_a_loop() -> None:
    app = create_app(settings(cache_bytes=1 << 20, cache_redis_url=nowhere(2)))
    async with app.router.lifespan_context(app):
        context: ProxyContext = app.state.context
        assert [loop.name for loop in context.process.loops][-1] == "cache"


async def test_lifespan_closes_what_serves_before_what_it_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []

    def noting(name: str, close: Callable[[object], Awaitable[None]]) -> Callable[[object], Awaitable[None]]:
        async def closing(part: object) -> None:
            closed.append(name)
            await close(part)

        return closing

    for part, method in (
        (Prober, "close"),
        (LeaderLease, "resign"),
        (KeyMeter, "close"),
        (KeyStore, "close"),
        (RedisCache, "close"),
    ):
        monkeypatch.setattr(part, method, noting(part.__name__, getattr(part, method)))
    app = create_app(settings(cache_bytes=1 << 20, cache_redis_url=nowhere(2)))
    async with app.router.lifespan_context(app):
        assert not closed
    assert closed == ["Prober", "LeaderLease", "KeyMeter", "KeyStore", "RedisCache"]
