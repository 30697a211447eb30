"""Authentication over a real Redis: callers, operators, watchers."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from pydantic import SecretStr

from proxy.keys.api_key import ApiKey, Grant, Scope, mint
from proxy.keys.authenticator import OPERATOR, Authenticator
from proxy.keys.cached_store import Clocks
from proxy.keys.store import KeyStore
from proxy.metrics import ProxyMetrics
from shared.protocol.access_errors import KeyRefusedError, KeyRequiredError, OperatorOffError
from tests.conftest import PREFIX, RedisServer

TOKEN = "an-operator-token-of-tests"


@asynccontextmanager
async def authenticator(redis: RedisServer, *, on: bool = True, token: str = TOKEN) -> AsyncGenerator[Authenticator]:
    store = KeyStore(redis.url, PREFIX, 5.0, time.time)
    clocks = Clocks(time.time, time.monotonic)
    one = Authenticator(
        store, ProxyMetrics(), clocks, on=on, serves_without_redis=False, operator_token=SecretStr(token)
    )
    yield one
    await one.close()
    await store.close()


async def new_key(redis: RedisServer, **granted: Any) -> tuple[ApiKey, str]:
    """Create a key; return its record, and the header that shows it."""
    store = KeyStore(redis.url, PREFIX, 5.0, time.time)
    key, shown = mint(Grant(name="a", **granted), time.time())
    await store.add(key)
    await store.close()
    return key, f"Bearer {shown}"


async def test_authenticate_returns_caller_and_key(redis: RedisServer) -> None:
    key, header = await new_key(redis, requests_per_minute=2)
    headers: dict[str, str] = {}
    key_ids: list[str] = []
    async with authenticator(redis) as one:
        authentication = await one.authenticate(header, headers.update, key_ids.append)
    assert (authentication.key, authentication.caller.identity) == (key, f"key {key.id}")
    assert (headers["RateLimit-Remaining"], key_ids) == ("1", [key.id])


async def test_authenticate_without_key_is_refused(redis: RedisServer) -> None:
    async with authenticator(redis) as one:
        with pytest.raises(KeyRequiredError):
            await one.authenticate(None, dict[str, str]().update, list[str]().append)
        with pytest.raises(KeyRefusedError):
            await one.authenticate("Bearer pw_x", dict[str, str]().update, list[str]().append)


def test_anonymous_caller_has_no_key() -> None:
    authentication = Authenticator.anonymous("192.0.2.1")
    assert authentication.key is None
    assert "192.0.2.1" in authentication.caller.identity


async def test_operator_shows_the_token_or_a_key_to_operate(redis: RedisServer) -> None:
    operator, header = await new_key(redis, scopes=(Scope.OPERATE,))
    _, other = await new_key(redis)
    key_ids: list[str] = []
    async with authenticator(redis) as one:
        await one.require_operator(f"Bearer {TOKEN}", key_ids.append)
        await one.require_operator(header, key_ids.append)
        with pytest.raises(KeyRefusedError, match="lacks the scope operate"):
            await one.require_operator(other, key_ids.append)
    assert key_ids[:2] == [OPERATOR, operator.id]


async def test_operator_is_refused_where_neither_token_nor_keys_is_set(redis: RedisServer) -> None:
    async with authenticator(redis, on=False, token="") as one:
        with pytest.raises(OperatorOffError):
            await one.require_operator(f"Bearer {TOKEN}", list[str]().append)


async def test_watcher_needs_no_key_where_keys_are_off(redis: RedisServer) -> None:
    async with authenticator(redis, on=False) as one:
        await one.require_watcher(None, list[str]().append)
    async with authenticator(redis) as one:
        with pytest.raises(KeyRequiredError):
            await one.require_watcher(None, list[str]().append)
