"""TranslationCache: fingerprints of texts, and what it takes from the second tier, and for how long it keeps it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.cache.coalescing import request_fingerprint
from proxy.cache.memory_cache import MemoryCache
from proxy.cache.redis_cache import RedisCache
from proxy.cache.translation_cache import ModelVersions, TranslationCache, text_fingerprints
from proxy.metrics import ProxyMetrics
from proxy.routing.routes import Route
from shared.parsing.long_bodies import LongBodies
from shared.protocol.answers import Translation
from shared.protocol.report import ModelReport
from shared.protocol.translate_request import SentenceSplitting, TextFormat, TranslateRequest, XmlOptions
from shared.runtime.turns import LoopTurns
from tests.conftest import PREFIX, RedisServer
from tests.proxy.samples import pair, replica, snapshot
from tests.support.clock import HandClock

HELLO = TranslateRequest(text="Hello", source_lang="en", target_lang="de")


words = st.text(alphabet="ab", max_size=3)


requests = st.builds(
    TranslateRequest,
    text=words | st.lists(words, min_size=1, max_size=3),
    source_lang=st.sampled_from(["auto", "en", "en-GB"]),
    target_lang=st.sampled_from(["de", "fr"]),
    format=st.sampled_from(TextFormat),
    do_not_translate=st.lists(st.sampled_from(["a", "b", "ab"]), max_size=2),
    terms=st.dictionaries(st.sampled_from(["a", "b"]), st.sampled_from(["a", "b"]), max_size=2),
    pivot=st.booleans(),
    alternatives=st.integers(0, 2),
    split_sentences=st.sampled_from([None, *SentenceSplitting]),
    context=words,
    confidence=st.booleans(),
    min_confidence=st.sampled_from([None, 0, 0.5, 1]),
    xml=st.none() | st.builds(XmlOptions, ignore_tags=st.lists(st.sampled_from("ab"), max_size=1)),
)


@given(requests, requests)
def test_fingerprints_differ_when_requests_differ(one: TranslateRequest, other: TranslateRequest) -> None:
    alike = one == other and list(one.terms) == list(other.terms)
    assert (request_fingerprint(one, b"key") == request_fingerprint(other, b"key")) is alike
    if not alike and one.texts == other.texts and isinstance(one.text, str) is isinstance(other.text, str):
        assert not set(text_fingerprints(one, "m")) & set(text_fingerprints(other, "m"))


@given(st.lists(words, min_size=1, max_size=4), st.data())
def test_text_fingerprint_depends_on_text_and_models_only(texts: list[str], data: st.DataObject) -> None:
    listed = HELLO.model_copy(update={"text": texts})
    index = data.draw(st.integers(0, len(texts) - 1))
    alone = HELLO.model_copy(update={"text": texts[index]})
    keys = text_fingerprints(listed, ["m", "1"])
    assert text_fingerprints(alone, ["m", "1"]) == [keys[index]]
    assert len(set(keys)) == len(set(texts))
    assert not set(keys) & set(text_fingerprints(listed, ["m", "2"]))


@given(st.data())
def test_fingerprint_covers_every_field(data: st.DataObject) -> None:
    """Whatever field is added one day changes the digest too."""
    others: dict[str, Any] = {
        "text": "Bye",
        "source_lang": "fr",
        "target_lang": "fr",
        "format": TextFormat.HTML,
        "do_not_translate": ["Pairway"],
        "terms": {"a": "b"},
        "pivot": False,
        "alternatives": 1,
        "split_sentences": SentenceSplitting.NONE,
        "context": "At the bank.",
        "confidence": True,
        "min_confidence": 0.0,
        "xml": XmlOptions(ignore_tags=["x"]),
    }
    assert set(others) == set(TranslateRequest.model_fields)
    name = data.draw(st.sampled_from(sorted(others)))
    changed = HELLO.model_copy(update={name: others[name]})
    assert request_fingerprint(changed, b"key") != request_fingerprint(HELLO, b"key")
    assert text_fingerprints(changed, "m") != text_fingerprints(HELLO, "m")


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
        LoopTurns(),
        LongBodies(LoopTurns()),
    )


@pytest.mark.usefixtures("patient_cache")
async def test_memory_copy_expires_with_the_redis_entry(redis: RedisServer) -> None:
    clock, monotonic = HandClock(), HandClock()
    redis_cache = RedisCache(redis.url, PREFIX, clock, monotonic)
    one, two = cache(redis_cache, clock), cache(redis_cache, clock)
    lookup = await one.look_up("alice", REQUEST, EN_DE)
    assert lookup is not None
    one.store(lookup, [0], [GOOD])
    await redis_cache.flush()
    for passed, is_found in ((0, True), (59, True), (60, False)):
        clock.now = 1000.0 + passed
        lookup_after = await two.look_up("alice", REQUEST, EN_DE)
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
@pytest.mark.usefixtures("patient_cache")
async def test_redis_entry_is_validated_before_use(
    redis: RedisServer, changed: dict[str, object], is_used: bool
) -> None:
    clock = HandClock()
    redis_cache = RedisCache(redis.url, PREFIX, clock, HandClock())
    lookup = await cache(redis_cache, clock).look_up("alice", REQUEST, EN_DE)
    assert lookup is not None
    entry = {**json.loads(GOOD.to_json()), **changed}
    redis_cache.write(lookup.keys[0], json.dumps(entry, indent=1).encode(), clock.now + 60)
    await redis_cache.flush()
    answered = await cache(redis_cache, clock).look_up("alice", REQUEST, EN_DE)
    await redis_cache.close()
    assert answered is not None
    assert answered.values == ({0: Translation.model_validate(entry).to_json()} if is_used else {})
    assert b"more" not in answered.values.get(0, b"")
