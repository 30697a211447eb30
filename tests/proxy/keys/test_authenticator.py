"""Authentication over a real Redis: callers, operators, watchers."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from pydantic import SecretStr

from proxy.keys.api_key import ApiKey, Grant, Scope, mint
from proxy.keys.authenticator import OBSERVER, OPERATOR, Authenticator
from proxy.keys.store import KeyStore
from proxy.keys.usage_recorder import UsageRecorder
from proxy.metrics import ProxyMetrics
from shared.protocol.errors import KeyRefusedError, KeyRequiredError, OperatorOffError, PairwayError
from tests.conftest import PREFIX, RedisServer
from tests.proxy.proxies import nowhere

TOKEN = "an-operator-token-of-tests"
READING = "an-observer-token-of-tests"


def not_in_url(_: str) -> bool:
    return False


@asynccontextmanager
async def authenticator(
    redis: RedisServer | str,
    *,
    on: bool = True,
    token: str = TOKEN,
    reading: str = READING,
    metrics: ProxyMetrics | None = None,
) -> AsyncGenerator[Authenticator]:
    store = KeyStore(redis if isinstance(redis, str) else redis.url, PREFIX, 5.0, time.time)
    one = Authenticator(
        store,
        metrics or ProxyMetrics(),
        UsageRecorder(store.usage, "proxy", time.time, time.monotonic),
        time.monotonic,
        on=on,
        serves_without_redis=False,
        operator_token=SecretStr(token),
        observer_token=SecretStr(reading),
    )
    yield one
    await one.meter.close()
    await store.close()


async def new_key(redis: RedisServer, **granted: Any) -> tuple[ApiKey, str]:
    """Create a key; return its record, and the header that shows it."""
    store = KeyStore(redis.url, PREFIX, 5.0, time.time)
    key, shown = mint(Grant(name="a", **granted), 0.0)
    await store.add(key)
    await store.close()
    return key, f"Bearer {shown}"


async def test_authenticate_returns_caller_and_key(redis: RedisServer) -> None:
    key, header = await new_key(redis, requests_per_minute=2)
    async with authenticator(redis) as one:
        authentication = await one.authenticate(header, not_in_url)
    assert (authentication.key, authentication.caller.identity) == (key, f"key {key.id}")
    assert authentication.headers["RateLimit-Remaining"] == "1"


async def test_refusals_of_a_key_name_it_for_the_log(redis: RedisServer) -> None:
    limited, header = await new_key(redis, requests_per_minute=1)
    over, expired = await new_key(redis, expires_at=time.time() - 1)
    operator, operators = await new_key(redis, scopes=(Scope.OPERATE,))
    async with authenticator(redis) as one:
        await one.authenticate(header, not_in_url)
        for shown, key in ((header, limited), (expired, over), (operators, operator)):
            with pytest.raises(PairwayError) as caught:
                await one.authenticate(shown, not_in_url)
            assert caught.value.log_fields == {"key": key.id}
            assert ("RateLimit-Limit" in caught.value.headers) == (key is limited)
        with pytest.raises(KeyRefusedError) as caught:
            await one.authenticate(header[:-1] + ("a" if header[-1] != "a" else "b"), not_in_url)
        assert caught.value.log_fields == {}, "an id is public: whoever names it need not have the key"


async def test_authenticate_without_key_is_refused(redis: RedisServer) -> None:
    async with authenticator(redis) as one:
        with pytest.raises(KeyRequiredError):
            await one.authenticate(None, not_in_url)
        with pytest.raises(KeyRefusedError):
            await one.authenticate("Bearer pw_x", not_in_url)


async def test_operator_shows_the_token_or_a_key_to_operate(redis: RedisServer) -> None:
    operator, header = await new_key(redis, scopes=(Scope.OPERATE,))
    _, other = await new_key(redis)
    async with authenticator(redis) as one:
        assert await one.require_operator(f"Bearer {TOKEN}", not_in_url) == OPERATOR
        assert await one.require_operator(header, not_in_url) == operator.id
        with pytest.raises(KeyRefusedError, match="lacks the scope operate"):
            await one.require_operator(other, not_in_url)


async def test_observer_shows_a_token_or_a_key_to_observe_or_operate(redis: RedisServer) -> None:
    observer, header = await new_key(redis, scopes=(Scope.OBSERVE,))
    operator, of_operator = await new_key(redis, scopes=(Scope.OPERATE,))
    _, other = await new_key(redis)
    async with authenticator(redis) as one:
        for shown, name in (
            (f"Bearer {READING}", OBSERVER),
            (f"Bearer {TOKEN}", OPERATOR),
            (header, observer.id),
            (of_operator, operator.id),
        ):
            assert await one.require_observer(shown, not_in_url) == name
        with pytest.raises(KeyRefusedError, match="lacks the scope observe"):
            await one.require_observer(other, not_in_url)


async def test_observer_changes_nothing(redis: RedisServer) -> None:
    metrics = ProxyMetrics()
    observer, header = await new_key(redis, scopes=(Scope.OBSERVE,))
    async with authenticator(redis, metrics=metrics) as one:
        with pytest.raises(KeyRefusedError, match="only reads"):
            await one.require_operator(f"Bearer {READING}", not_in_url)
        for refused in (one.require_operator(header, not_in_url), one.authenticate(header, not_in_url)):
            with pytest.raises(KeyRefusedError, match="lacks the scope") as caught:
                await refused
            assert caught.value.log_fields == {"key": observer.id}
    assert metrics.registry.get_sample_value("pairway_proxy_access_refusals_total", {"reason": "scope"}) == 3


@pytest.mark.parametrize("token", [TOKEN, ""])
async def test_observer_where_keys_are_off_shows_a_token(redis: RedisServer, token: str) -> None:
    async with authenticator(redis, on=False, token=token) as one:
        assert await one.require_observer(f"Bearer {READING}", not_in_url) == OBSERVER
        with pytest.raises(KeyRefusedError):
            await one.require_observer(f"Bearer {READING}x", not_in_url)
        with pytest.raises(KeyRequiredError):
            await one.require_observer(None, not_in_url)
        with pytest.raises(KeyRefusedError if token else OperatorOffError):
            await one.require_operator(f"Bearer {READING}", not_in_url)
    async with authenticator(redis, on=False, token=token, reading="") as one:
        for shown in ("Bearer x", f"Bearer {READING}"):
            with pytest.raises(KeyRefusedError if token else OperatorOffError):
                await one.require_observer(shown, not_in_url)


async def test_operator_is_refused_where_neither_token_nor_keys_is_set(redis: RedisServer) -> None:
    async with authenticator(redis, on=False, token="") as one:
        with pytest.raises(OperatorOffError):
            await one.require_operator(f"Bearer {TOKEN}", not_in_url)


async def test_each_refusal_says_why_and_is_counted(redis: RedisServer) -> None:
    metrics = ProxyMetrics()
    _, header = await new_key(redis)
    async with authenticator(redis, metrics=metrics) as one, authenticator(nowhere(), metrics=metrics) as without_redis:
        for refused, reason, code, detail in (
            (one.authenticate(None, not_in_url), "none", "key-required", "Authorization: Bearer KEY"),
            (one.authenticate("Bearer x", not_in_url), "key", "key-refused", "wrong, revoked or expired"),
            (one.require_operator(header, not_in_url), "scope", "key-refused", "lacks the scope operate"),
            (without_redis.authenticate(header, not_in_url), "unavailable", "keys-unavailable", "looked up"),
        ):
            with pytest.raises(PairwayError) as caught:
                await refused
            assert (caught.value.code, detail in caught.value.detail) == (code, True)
            assert metrics.registry.get_sample_value("pairway_proxy_access_refusals_total", {"reason": reason}) == 1
    async with authenticator(redis, on=False, metrics=metrics) as one:
        with pytest.raises(KeyRefusedError, match="not the operator token"):
            await one.require_operator("Bearer not-the-token", not_in_url)


async def test_operators_key_in_a_url_is_refused_everywhere(redis: RedisServer) -> None:
    operator, header = await new_key(redis, scopes=(Scope.OPERATE, Scope.TRANSLATE))
    _, observers = await new_key(redis, scopes=(Scope.OBSERVE, Scope.TRANSLATE))
    _, other = await new_key(redis)
    searched: list[str] = []

    def in_url(key: str) -> bool:
        searched.append(key)
        return True

    async with authenticator(redis) as one:
        for refused in (one.authenticate(header, in_url), one.require_operator(header, in_url)):
            with pytest.raises(KeyRefusedError, match="revoke the key") as caught:
                await refused
            assert caught.value.log_fields == {"key": operator.id}
        for refused in (one.authenticate(observers, in_url), one.require_observer(observers, in_url)):
            with pytest.raises(KeyRefusedError, match="has the scope observe"):
                await refused
        await one.authenticate(other, in_url)
    assert searched == [shown.removeprefix("Bearer ") for shown in (header, header, observers, observers)], (
        "others' URLs are not searched"
    )
