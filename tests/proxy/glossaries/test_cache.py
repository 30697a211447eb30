"""The cache of glossaries: how fresh, how large, and what it does without Redis."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import AsyncGenerator

import pytest

from proxy.glossaries import term_finder
from proxy.glossaries.glossary import Dictionary, Glossary, GlossaryDraft, GlossaryOwner
from proxy.glossaries.store import GlossaryStore
from proxy.glossaries.term_finder import (
    ENTRY_BYTES,
    FRESH_SECONDS,
    GlossaryCache,
    ReadyGlossary,
)
from proxy.storage.recent_copies import AWAY_SECONDS, KNOWN_SECONDS
from shared.languages import LanguagePair
from shared.protocol.errors import GlossariesUnavailableError, UnknownGlossaryError
from shared.runtime.turns import finish
from tests.conftest import PREFIX, RedisServer
from tests.proxy.glossaries.samples import ALICE, BOB, dictionary, draft, many_entries
from tests.support.clock import HandClock

EN_DE = LanguagePair("en", "de")


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
async def store(own_redis: RedisServer) -> AsyncGenerator[GlossaryStore]:
    one = GlossaryStore(own_redis.url, PREFIX, 5.0, HandClock())
    yield one
    await one.close()


@pytest.fixture
def cache(store: GlossaryStore, clock: HandClock) -> GlossaryCache:
    return GlossaryCache(store, clock)


def commands(redis: RedisServer) -> int:
    return redis.client.info("stats")["total_commands_processed"]


async def test_unknown_glossary_is_refused(cache: GlossaryCache, store: GlossaryStore) -> None:
    glossary = await store.create(ALICE, draft())
    await cache.get(ALICE, glossary.id)
    for owner, glossary_id in ((BOB, glossary.id), (ALICE, glossary.id[::-1])):
        with pytest.raises(UnknownGlossaryError):
            await cache.get(owner, glossary_id)


async def test_glossary_is_read_once_while_fresh(
    cache: GlossaryCache, store: GlossaryStore, own_redis: RedisServer, clock: HandClock
) -> None:
    glossary = await store.create(ALICE, draft())
    all_at_once = await asyncio.gather(*(cache.get(ALICE, glossary.id) for _ in range(10)))
    assert len({id(each) for each in all_at_once}) == 1, "one request loads it for all"
    before = commands(own_redis)
    clock.now += FRESH_SECONDS - 0.1
    assert await cache.get(ALICE, glossary.id) is all_at_once[0]
    assert commands(own_redis) == before + 1, "the question itself"


async def test_change_elsewhere_is_seen_soon(cache: GlossaryCache, store: GlossaryStore, clock: HandClock) -> None:
    glossary = await store.create(ALICE, draft())
    first = await cache.get(ALICE, glossary.id)
    clock.now += FRESH_SECONDS
    assert await cache.get(ALICE, glossary.id) is first, "the version is the same"
    await store.update(ALICE, glossary.id, lambda before: before.with_entries(dictionary(a="b")))
    assert await cache.get(ALICE, glossary.id) is first
    clock.now += FRESH_SECONDS
    assert (await cache.get(ALICE, glossary.id)).matchers[EN_DE].entries == {"invoice": "Rechnung", "a": "b"}
    await store.delete(ALICE, glossary.id)
    clock.now += FRESH_SECONDS
    with pytest.raises(UnknownGlossaryError):
        await cache.get(ALICE, glossary.id)


async def test_known_glossary_serves_without_redis(
    cache: GlossaryCache, store: GlossaryStore, own_redis: RedisServer, clock: HandClock
) -> None:
    glossary, other = await store.create(ALICE, draft()), await store.create(ALICE, draft())
    known = await cache.get(ALICE, glossary.id)
    own_redis.server.kill()
    clock.now += KNOWN_SECONDS - 1
    assert await cache.get(ALICE, glossary.id) is known
    with pytest.raises(GlossariesUnavailableError):
        await cache.get(ALICE, other.id)
    clock.now += 1
    with pytest.raises(GlossariesUnavailableError):
        await cache.get(ALICE, glossary.id)


async def test_redis_is_asked_again_after_a_pause(
    cache: GlossaryCache, store: GlossaryStore, own_redis: RedisServer, clock: HandClock
) -> None:
    own_redis.server.kill()
    with pytest.raises(GlossariesUnavailableError):
        await cache.get(ALICE, "an id")
    own_redis.start()
    glossary = await store.create(ALICE, draft())
    with pytest.raises(GlossariesUnavailableError, match="an earlier call"):
        await cache.get(ALICE, glossary.id)
    clock.now += AWAY_SECONDS
    await cache.get(ALICE, glossary.id)


async def test_entries_in_memory_are_bounded(
    clock: HandClock, store: GlossaryStore, own_redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(term_finder, "MAX_CACHED_ENTRIES", 25)
    cache = GlossaryCache(store, clock)
    ids = [(await store.create(ALICE, draft(dictionary(**many_entries(10))))).id for _ in range(3)]
    for each in (*ids, ids[2], ids[1]):
        await cache.get(ALICE, each)
    own_redis.server.kill()
    await cache.get(ALICE, ids[1])
    with pytest.raises(GlossariesUnavailableError):
        await cache.get(ALICE, ids[0])


@pytest.mark.parametrize("letter", ["a ", "\U0001f600", "\u4e00", "\U00020000", "\u0390", "\u2192"])
def test_size_follows_the_bytes_of_entries(letter: str) -> None:
    def ready(number: int) -> ReadyGlossary:
        phrases = (f"{number} {entry} {letter * 90}\U0001f600" for entry in range(200))
        entries = {phrase: f"{phrase}b" for phrase in phrases}
        draft_of_long = GlossaryDraft(
            name="long", dictionaries=[Dictionary(source_lang="en", target_lang="de", entries=entries)]
        )
        return finish(ReadyGlossary.of(Glossary.create(draft_of_long, 0.0)))

    ready(0)
    tracemalloc.start()
    try:
        kept = [ready(number) for number in range(5)]
        taken = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert taken <= 1.15 * sum(each.size for each in kept) * ENTRY_BYTES


def test_short_entries_count_once() -> None:
    entries = {f"term {number}": f"Wort {number}" for number in range(500)}
    short = GlossaryDraft(name="short", dictionaries=[Dictionary(source_lang="en", target_lang="de", entries=entries)])
    assert finish(ReadyGlossary.of(Glossary.create(short, 0.0))).size == 500


@pytest.mark.parametrize("pairs", [0, 1, 20])
def test_small_glossaries_count_by_their_tables(pairs: int) -> None:
    targets = [f"{first}{second}" for first in "abcde" for second in "klmn"][:pairs]

    def ready(number: int) -> ReadyGlossary:
        dictionaries = [Dictionary(source_lang="en", target_lang=each, entries={f"{number}": "a"}) for each in targets]
        return finish(ReadyGlossary.of(Glossary.create(GlossaryDraft(name="small", dictionaries=dictionaries), 0.0)))

    ready(0)
    tracemalloc.start()
    try:
        kept = [ready(number) for number in range(50)]
        taken = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert taken <= sum(each.size for each in kept) * ENTRY_BYTES


async def test_owners_build_glossaries_in_turn(cache: GlossaryCache, store: GlossaryStore) -> None:
    large = draft(dictionary(**many_entries(2000)))
    hostile = [(await store.create(ALICE, large)).id for _ in range(10)]
    neighbour = (await store.create(BOB, draft())).id
    built: list[str] = []

    async def build(owner: GlossaryOwner, glossary_id: str) -> None:
        await cache.get(owner, glossary_id)
        built.append(owner.name)

    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        tasks = [group.create_task(build(ALICE, each)) for each in hostile]
        group.create_task(build(BOB, neighbour))
    assert len(built) == len(tasks) + 1
    assert built.index(BOB.name) <= 2
