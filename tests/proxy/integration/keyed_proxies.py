"""Proxies that need keys, and requests with one."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from proxy.keys.api_key import ApiKey, Grant, mint
from tests.proxy.proxies import RunningProxy, fleet_of, proxy
from tests.support.fake_replica import FakeReplica

NOBODY = "http://127.0.0.1:1"
TOKEN = "an-operator-token-of-tests"
OPERATOR = {"Authorization": f"Bearer {TOKEN}"}
# A machine with other work to do is not a Redis that is away.
PATIENT: dict[str, Any] = {"keys": "on", "redis_timeout": 5.0, "operator_token": TOKEN}


async def new_key(running: RunningProxy, **granted: Any) -> tuple[str, ApiKey]:
    """Create a key; return what its holder shows, and its record."""
    key, shown = mint(Grant.model_validate({"name": "a caller", **granted}), time.time())
    await running.context.keys.store.add(key)
    return shown, key


async def ask(
    running: RunningProxy, shown: str, text: object = "Hello", **more: str
) -> tuple[int, dict[str, Any], Any]:
    return await running.translate(text, authorization=f"Bearer {shown}", **more)


async def usage(running: RunningProxy, shown: str) -> dict[str, Any]:
    response = await running.client.get("/usage", headers={"Authorization": f"Bearer {shown}"})
    assert response.status_code == 200, response.text
    return response.json()


@asynccontextmanager
async def guarded(fake: FakeReplica, url: str, **settings: Any) -> AsyncGenerator[RunningProxy]:
    async with proxy([fake], url, **{**PATIENT, **settings}) as running:
        yield running


@asynccontextmanager
async def guarded_fleet(url: str, *pairs: str, **settings: Any) -> AsyncGenerator[tuple[RunningProxy, FakeReplica]]:
    """Serve a proxy that needs keys, of one replica of these pairs."""
    async with fleet_of(*pairs, redis_url=url, **{**PATIENT, **settings}) as fleet:
        yield fleet


def stop_clock(*proxies: RunningProxy) -> float:
    """Stop the clock of the proxies' keys, so that no window ends during a test; return its Unix time."""
    now = time.time()
    for running in proxies:
        running.context.keys.store.clock = lambda: now
    return now


async def used_today(running: RunningProxy, shown: str) -> int:
    return (await usage(running, shown))["chars_per_day"]["used"]
