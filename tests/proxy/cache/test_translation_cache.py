"""TranslationCache: what it takes from the second tier, and for how long it keeps it."""

from __future__ import annotations

import json

import pytest

from proxy.cache.memory_cache import MemoryCache
from proxy.cache.model_versions import ModelVersions
from proxy.cache.redis_cache import RedisCache
from proxy.cache.translation_cache import TranslationCache
from proxy.metrics import ProxyMetrics
from proxy.routing.routes import Route
from shared.protocol.answers import Translation
from shared.protocol.report import ModelReport
from shared.protocol.translate_request import TranslateRequest
from tests.conftest import PREFIX, RedisServer
from tests.proxy.clock import HandClock
from tests.proxy.samples import pair, replica, snapshot

pytestmark = pytest.mark.usefixtures("patient_cache")

REQUEST = TranslateRequest(text="Hello", source_lang="en", target_lang="de")
EN_DE = Route((pair("en>de"),))


GOOD = Translation(translation="Hallo", source_lang="en", target_lang="de", model="m", route=["en", "de"])


def cache(redis_cache: RedisCache, clock: HandClock) -> TranslationCache:
    """Return a cache of a fleet in which the model m serves en>de."""
    model = ModelReport(running=0, waiting=0, limit=1, steps=0, step_age_s=None, kv_used=0, revision="1")
    fleet = snapshot(replica("http://one", "en>de", models={"m": model}))
    return TranslationCache(
        MemoryCache(10_000, clock),
        redis_cache,
        ModelVersions(lambda: fleet),
        ProxyMetrics(),
        60,
        clock,
    )


async def test_memory_copy_expires_with_the_redis_entry(redis: RedisServer) -> None:
    clock, monotonic = HandClock(), HandClock()
    redis_cache = RedisCache(redis.url, PREFIX, clock, monotonic)
    one, two = cache(redis_cache, clock), cache(redis_cache, clock)
    lookup = await one.look_up(REQUEST, EN_DE)
    assert lookup is not None
    one.store(lookup, [0], [GOOD])
    await redis_cache.flush()
    for passed, is_found in ((0, True), (59, True), (60, False)):
        clock.now = 1000.0 + passed
        lookup_after = await two.look_up(REQUEST, EN_DE)
        assert lookup_after is not None
        assert bool(lookup_after.values) is is_found, "though it came into this memory later"
    await redis_cache.close()


@pytest.mark.parametrize(
    ("changed", "is_used"),
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
async def test_redis_entry_is_validated_before_use(
    redis: RedisServer, changed: dict[str, object], is_used: bool
) -> None:
    clock = HandClock()
    redis_cache = RedisCache(redis.url, PREFIX, clock, HandClock())
    lookup = await cache(redis_cache, clock).look_up(REQUEST, EN_DE)
    assert lookup is not None
    entry = {**json.loads(GOOD.to_json()), **changed}
    redis_cache.write(lookup.keys[0], json.dumps(entry, indent=1).encode(), clock.now + 60)
    await redis_cache.flush()
    answered = await cache(redis_cache, clock).look_up(REQUEST, EN_DE)
    await redis_cache.close()
    assert answered is not None
    assert answered.values == ({0: Translation.model_validate(entry).to_json()} if is_used else {})
    assert b"more" not in answered.values.get(0, b"")
