"""The cache's second tier: shared by proxies, and whatever its Redis does, translations neither wait nor fail."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from proxy.cache.redis_cache import PAUSE_SECONDS
from tests.conftest import PREFIX, RedisServer
from tests.proxy.proxies import RunningProxy, nowhere, proxy
from tests.support.fake_replica import FakeReplica, replicas
from tests.support.waiting import Awake, wait_until

MIB = 1024 * 1024


@pytest.fixture(scope="module")
async def fake() -> AsyncGenerator[FakeReplica]:
    one = FakeReplica("en>de", name="one")
    async with replicas(one):
        yield one


@pytest.fixture(autouse=True)
def fresh(fake: FakeReplica) -> None:
    fake.requests.clear()


@asynccontextmanager
async def cached(fake: FakeReplica, url: str) -> AsyncGenerator[RunningProxy]:
    async with proxy([fake], cache_bytes=MIB, cache_redis_url=url) as running:
        yield running


async def source_of(running: RunningProxy, text: object) -> str:
    status, answer, headers = await running.translate(text)
    assert status == 200
    results = answer.get("results", [answer])
    texts = [text] if isinstance(text, str) else text
    assert [each["translation"] for each in results] == [f"[en>de by one] {each}" for each in texts]  # type: ignore[union-attr]  # pyright: ignore[reportGeneralTypeIssues, reportUnknownVariableType]
    return headers["x-cache"]


async def written(redis: RedisServer, count: int) -> list[str]:
    return await wait_until(lambda: len(found := redis.keys()) == count and found, 3, f"{count} entries in Redis")  # pyright: ignore[reportReturnType] - the list is not empty


async def found_in_redis(running: RunningProxy, texts: list[str]) -> None:
    """Wait until one of the texts, each asked for once, comes from the second tier: a look-up may come too late."""
    unseen = iter(texts)

    async def found() -> bool:
        return await source_of(running, next(unseen)) == "hit"

    await wait_until(found, PAUSE_SECONDS + 5, "the second tier is used")


async def test_entry_of_one_proxy_answers_at_another(redis: RedisServer, fake: FakeReplica) -> None:
    texts = [f"text {number}" for number in range(100)]
    async with cached(fake, redis.url) as one, cached(fake, redis.url) as two:
        assert await source_of(one, texts) == "miss"
        keys = await written(redis, 100)
        await found_in_redis(two, texts)
        await source_of(two, "another")
        assert "another" in await wait_until(lambda: [each.body["text"] for each in fake.requests], 5)
        await written(redis, 101)
    assert all(re.fullmatch(PREFIX + "cache:[0-9a-f]{64}", key) for key in keys), "nothing readable"


RUBBISH = (b"", b"12345678", b"\x7f" * 9, b"A" * 8 + b"{}", b"A" * 8 + b'{"results":[]}')


async def test_foreign_redis_values_are_ignored(redis: RedisServer, fake: FakeReplica) -> None:
    texts = [f"true {number}" for number in range(len(RUBBISH))]
    async with cached(fake, redis.url) as one, cached(fake, redis.url) as two:
        await source_of(one, texts)
        for key, rubbish in zip(await written(redis, len(RUBBISH)), RUBBISH, strict=True):
            redis.client.set(key, rubbish, px=60_000)
        assert await source_of(two, texts) == "miss"
    assert len(fake.requests) == 2


async def test_absent_redis_leaves_the_memory_cache(fake: FakeReplica) -> None:
    async with cached(fake, nowhere(2)) as running:
        for number in range(5):
            assert await source_of(running, f"alone {number}") == "miss"
            assert await source_of(running, f"alone {number}") == "hit"
        assert (await running.client.get("/livez")).status_code == 200


async def test_frozen_redis_delays_nobody_and_is_used_again(own_redis: RedisServer, fake: FakeReplica) -> None:
    async with cached(fake, own_redis.url) as one, cached(fake, own_redis.url) as two:
        await source_of(one, [f"before {number}" for number in range(100)])
        await written(own_redis, 100)
        own_redis.server.signal(signal.SIGSTOP)
        with Awake() as awake:
            for number in range(20):
                assert await source_of(two, f"frozen {number}") == "miss"
        assert awake.seconds < 5, "each would have waited for seconds"
        own_redis.server.signal(signal.SIGCONT)

        await found_in_redis(two, [f"before {number}" for number in range(100)])


async def test_killed_redis_is_filled_again(own_redis: RedisServer, fake: FakeReplica) -> None:
    async with cached(fake, own_redis.url) as running:
        await source_of(running, "k0")
        await written(own_redis, 1)
        own_redis.server.kill()
        assert await source_of(running, "k1") == "miss"
        own_redis.start()

        async def filled() -> bool:
            await source_of(running, f"k {time.monotonic()}")
            return bool(own_redis.keys())

        await wait_until(filled, PAUSE_SECONDS + 5, "written again")
