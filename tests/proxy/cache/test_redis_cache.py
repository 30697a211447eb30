"""The cache's second tier: shared by proxies, and whatever its Redis does, translations neither wait nor fail."""

from __future__ import annotations

import json
import re
import signal
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from pydantic import ValidationError

from proxy.cache.memory_cache import MemoryCache
from proxy.cache.model_versions import ModelVersions
from proxy.cache.redis_cache import MAX_QUEUED_BYTES, PAUSE_SECONDS, RedisCache
from proxy.cache.translation_cache import TranslationCache, encode
from proxy.metrics import ProxyMetrics
from proxy.settings import ProxySettings
from shared.protocol.messages import TranslateRequest, Translation
from shared.protocol.report import ModelReport
from tests.conftest import PREFIX, RedisAtHand
from tests.fakes import FakeReplica, replicas
from tests.proxy.clock import HandClock
from tests.proxy.proxies import RunningProxy, nowhere, proxy
from tests.proxy.samples import replica, snapshot
from tests.waiting import Awake, wait_until

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


async def written(redis: RedisAtHand, count: int) -> list[str]:
    return await wait_until(lambda: len(found := redis.keys()) == count and found, 3, f"{count} entries in Redis")  # pyright: ignore[reportReturnType] - the list is not empty


async def found_in_redis(running: RunningProxy, texts: list[str]) -> None:
    """Wait until one of the texts, each asked for once, comes from the second tier: a look-up may come too late."""
    unseen = iter(texts)

    async def found() -> bool:
        return await source_of(running, next(unseen)) == "hit"

    await wait_until(found, PAUSE_SECONDS + 5, "the second tier is used")


async def test_what_one_proxy_had_translated_another_answers(redis: RedisAtHand, fake: FakeReplica) -> None:
    texts = [f"text {number}" for number in range(100)]
    async with cached(fake, redis.url) as one, cached(fake, redis.url) as two:
        assert await source_of(one, texts) == "miss"
        keys = await written(redis, 100)
        await found_in_redis(two, texts)
        await source_of(two, "another")
        assert "another" in await wait_until(lambda: [each.body["text"] for each in fake.requests], 1)
        await written(redis, 101)
    assert all(re.fullmatch(PREFIX + "cache:[0-9a-f]{64}", key) for key in keys), "nothing readable"


REQUEST = TranslateRequest(text="Hello", source_lang="en", target_lang="de")
GOOD = Translation(translation="Hallo", source_lang="en", target_lang="de", model="m", route=["en", "de"])


def cache(store: RedisCache, clock: HandClock) -> TranslationCache:
    """Return a cache of a fleet in which the model m serves en>de."""
    model = ModelReport(running=0, waiting=0, limit=1, steps=0, step_age_s=None, kv_used=0, revision="1")
    fleet = snapshot(replica("http://one", "en>de", models={"m": model}))
    return TranslationCache(
        MemoryCache(10_000, clock), store, lambda: fleet, None, ModelVersions(lambda: fleet), ProxyMetrics(), 60, clock
    )


async def test_a_copy_in_memory_lives_no_longer_than_the_entry(redis: RedisAtHand) -> None:
    clock, monotonic = HandClock(), HandClock()
    store = RedisCache(redis.url, PREFIX, clock, monotonic)
    one, two = cache(store, clock), cache(store, clock)
    recalled = await one.look_up(REQUEST)
    assert recalled is not None
    one.store(recalled, [0], [GOOD])
    await store.flush()
    for passed, found in ((0, True), (59, True), (60, False)):
        clock.now = 1000.0 + passed
        there = await two.look_up(REQUEST)
        assert there is not None
        assert bool(there.values) is found, "though it came into this memory later"
    await store.close()


@pytest.mark.parametrize(
    ("changed", "taken"),
    [
        ({}, True),
        ({"more": "of another's"}, True),
        ({"warnings": [{"code": "odd", "message": "It is odd.", "more": 1}]}, True),
        ({"source_lang": "fr"}, False),
        ({"target_lang": "<script>"}, False),
        ({"route": ["en", "fr", "de"]}, False),
        ({"model": "x" * 100_000}, False),
        ({"model": "another"}, False),
        ({"model": None}, False),
        ({"model": None, "translation": "Hello"}, True),
        ({"translation": None}, False),
        ({"translation": "x" * 100_000}, False),
        ({"detected": {"lang": "en", "confidence": 1}}, False),
        ({"warnings": [{"code": "x", "message": "x"}] * 2_000}, False),
    ],
)
async def test_an_entry_that_can_not_be_an_answer_to_this_is_not_taken_and_others_as_we_write_them(
    redis: RedisAtHand, changed: dict[str, object], taken: bool
) -> None:
    clock = HandClock()
    store = RedisCache(redis.url, PREFIX, clock, HandClock())
    asked = await cache(store, clock).look_up(REQUEST)
    assert asked is not None
    entry = {**GOOD.to_json(), **changed}
    store.write(asked.keys[0], json.dumps(entry, indent=1).encode(), clock.now + 60)
    await store.flush()
    answered = await cache(store, clock).look_up(REQUEST)
    await store.close()
    assert answered is not None
    assert answered.values == ({0: encode(Translation.model_validate(entry))} if taken else {})
    assert b"more" not in answered.values.get(0, b"")


RUBBISH = (b"", b"12345678", b"\x7f" * 9, b"A" * 8 + b"{}", b"A" * 8 + b'{"results":[]}')


async def test_what_none_of_us_wrote_is_no_answer(redis: RedisAtHand, fake: FakeReplica) -> None:
    texts = [f"true {number}" for number in range(len(RUBBISH))]
    async with cached(fake, redis.url) as one, cached(fake, redis.url) as two:
        await source_of(one, texts)
        for key, rubbish in zip(await written(redis, len(RUBBISH)), RUBBISH, strict=True):
            redis.client.set(key, rubbish, px=60_000)
        assert await source_of(two, texts) == "miss"
    assert len(fake.requests) == 2


async def test_a_redis_that_is_not_there_changes_nothing_else(fake: FakeReplica) -> None:
    async with cached(fake, nowhere(2)) as running:
        for number in range(5):
            assert await source_of(running, f"alone {number}") == "miss"
            assert await source_of(running, f"alone {number}") == "hit"
        assert (await running.client.get("/livez")).status_code == 200


async def test_a_frozen_redis_keeps_nobody_waiting_and_is_used_again(own_redis: RedisAtHand, fake: FakeReplica) -> None:
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


async def test_a_redis_that_is_killed_and_comes_back_empty_is_filled_again(
    own_redis: RedisAtHand, fake: FakeReplica
) -> None:
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


async def test_what_waits_to_be_written_is_bounded_and_given_up_after_a_failure() -> None:
    clock = HandClock()
    store = RedisCache(nowhere(), PREFIX, clock, clock)
    value = bytes(MAX_QUEUED_BYTES // 4)
    for key in (b"1", b"2", b"3", b"4", b"5", b"1"):
        store.write(key, value, clock.now + 10)
    assert store.queued_bytes == MAX_QUEUED_BYTES
    await store.flush()
    assert store.queued_bytes == 0, "nothing is kept for a Redis that fails"
    store.write(b"6", value, clock.now + 10)
    assert store.queued_bytes == 0, "it is left alone"
    assert await store.read([b"1"]) == {}
    assert await store.read([b"1"]) == {}
    clock.now += PAUSE_SECONDS
    store.write(b"6", value, clock.now + 10)
    assert store.queued_bytes == len(value)
    await store.close()


async def test_many_are_written_and_read_in_batches(redis: RedisAtHand) -> None:
    store = RedisCache(redis.url, PREFIX, time.time, time.monotonic)
    keys = [b"%d" % number for number in range(1000)]
    expires = time.time() + 60
    for key in keys:
        store.write(key, b"value " + key, expires)
    store.write(b"over", b"value", time.time() - 1)
    await store.flush()
    assert len(redis.keys()) == 1000
    found: dict[bytes, tuple[float, bytes]] = {}
    for start in range(0, 1000, 128):
        found |= await store.read(keys[start : start + 128])
    assert found == {key: (expires, b"value " + key) for key in keys}
    await store.close()


REDIS = "redis://:secret@cache:6379/0"


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"cache_redis_url": "http://cache"}, "is no URL of a Redis"),
        ({"cache_redis_url": REDIS}, "needs PROXY_CACHE_BYTES"),
        ({"cache_bytes": MIB, "cache_redis_url": REDIS, "redis_url": "redis://cache"}, "must be different servers"),
        ({"cache_bytes": MIB, "cache_redis_url": REDIS, "redis_url": "rediss://CACHE:6379/3"}, "must be different"),
        ({"cache_bytes": MIB, "cache_redis_url": "redis://localhost/1"}, "must be different servers"),
        ({"cache_bytes": MIB, "cache_redis_url": "redis://[::1]:6379/1"}, "must be different servers"),
        ({"cache_bytes": MIB, "cache_redis_url": "unix:///r", "redis_url": "unix:///r"}, "must be different servers"),
    ],
)
def test_settings_that_would_fill_the_fleets_redis_are_refused(values: dict[str, object], why: str) -> None:
    with pytest.raises(ValidationError, match=why) as caught:
        ProxySettings(**values)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("url", ["", REDIS, "unix:///r", "redis://127.0.0.1:6380"])
def test_a_redis_of_its_own_is_taken(url: str) -> None:
    settings = ProxySettings(cache_bytes=MIB, cache_redis_url=url)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert settings.cache_redis_url.get_secret_value() == url
    assert "secret" not in repr(settings)
