"""The store of glossaries, with a real Redis."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncGenerator

import pytest

from proxy.glossaries import store as glossary_store
from proxy.glossaries.glossary import MAX_ENTRIES, Dictionary, Glossary, GlossaryDraft, GlossaryOwner, owner_of_word
from proxy.glossaries.store import KEPT_SECONDS, MAX_GLOSSARIES, RENEW_SECONDS, GlossaryStore
from proxy.storage import records
from proxy.storage.owned_records import PURGE_PAGE
from shared.languages import LanguagePair
from shared.protocol.errors import (
    GlossariesFullError,
    GlossariesUnavailableError,
    TooLargeError,
    UnknownDictionaryError,
    UnknownGlossaryError,
)
from tests.conftest import PREFIX, RedisServer
from tests.proxy.glossaries.samples import ALICE, BOB, KEY, dictionary, draft, many_entries
from tests.proxy.proxies import nowhere
from tests.support.clock import HandClock

EN_DE = LanguagePair("en", "de")
NEVER = "01234567-89ab-cdef-0123-456789abcdef"


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
async def store(redis: RedisServer, clock: HandClock) -> AsyncGenerator[GlossaryStore]:
    one = GlossaryStore(redis.url, PREFIX, 5.0, clock)
    yield one
    await one.close()


def stored_bytes(redis: RedisServer) -> dict[str, int]:
    counted: dict[str, str] = redis.client.hgetall(f"{PREFIX}glossary-bytes")
    return {name: int(value) for name, value in counted.items()}


def names(redis: RedisServer, part: str = "") -> list[str]:
    return [name for name in sorted(redis.keys()) if part in name]


def expire_tomorrow(redis: RedisServer) -> None:
    for name in names(redis):
        redis.client.expire(name, 86_400)


def commands(redis: RedisServer) -> int:
    return redis.client.info("stats")["total_commands_processed"]


def lifetimes(redis: RedisServer, owner: GlossaryOwner) -> set[int]:
    """Return the seconds to live of all that is the owner's, in days."""
    return {round(redis.client.ttl(name) / 86_400) for name in names(redis, owner.name)}


async def test_absent_glossary_is_unknown_to_every_call(store: GlossaryStore) -> None:
    for call in (
        store.read(ALICE, NEVER),
        store.info(ALICE, NEVER),
        store.version(ALICE, NEVER),
        store.update(ALICE, NEVER, lambda before: before.renamed("x")),
        store.delete(ALICE, NEVER),
    ):
        with pytest.raises(UnknownGlossaryError, match=NEVER):
            await call
    assert await store.list_all(ALICE) == []


async def test_other_owners_glossary_is_unknown(store: GlossaryStore) -> None:
    glossary = await store.create(ALICE, draft())
    for owner in (BOB, KEY):
        with pytest.raises(UnknownGlossaryError):
            await store.read(owner, glossary.id)
        with pytest.raises(UnknownGlossaryError):
            await store.delete(owner, glossary.id)
        assert await store.list_all(owner) == []
    assert await store.read(ALICE, glossary.id) == glossary


@pytest.mark.parametrize("owner", [ALICE, KEY])
async def test_glossary_is_read_as_it_was_written(store: GlossaryStore, clock: HandClock, owner: GlossaryOwner) -> None:
    sent = draft(dictionary(**{"Ünïcode 東京": "ß\u2019→😀"}), dictionary("en", "zh-Hant"))
    first = await store.create(owner, sent)
    clock.now += 1
    second = await store.create(owner, GlossaryDraft(name="empty"))
    assert await store.read(owner, first.id) == first
    assert (first.dictionaries, first.name, first.created_at) == (sent.dictionaries, "Products", clock.now - 1)
    assert await store.list_all(owner) == [first.info, second.info]
    assert await store.info(owner, second.id) == second.info


async def test_update_writes_the_change_and_the_next_version(store: GlossaryStore) -> None:
    glossary = await store.create(ALICE, draft())
    changed = await store.update(ALICE, glossary.id, lambda before: before.with_entries(dictionary(a="b")))
    assert changed.dictionary(EN_DE).entries == {"invoice": "Rechnung", "a": "b"}
    assert await store.read(ALICE, glossary.id) == changed
    assert await store.version(ALICE, glossary.id) == 2
    assert await store.list_all(ALICE) == [changed.info]


async def test_refused_change_changes_nothing(store: GlossaryStore) -> None:
    glossary = await store.create(ALICE, draft())
    with pytest.raises(UnknownDictionaryError):
        await store.update(ALICE, glossary.id, lambda before: before.without_dictionary(LanguagePair("fr", "de")))
    assert await store.read(ALICE, glossary.id) == glossary


async def test_changes_at_once_are_all_kept(
    store: GlossaryStore, redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of one proxy take turns; those of two try again."""
    monkeypatch.setattr(records, "MAX_TRIES", 100)
    glossary = await store.create(ALICE, draft())

    other = GlossaryStore(redis.url, PREFIX, 10.0, HandClock())
    stores = itertools.cycle((store, other))

    async def add(n: int) -> Glossary:
        return await next(stores).update(
            ALICE, glossary.id, lambda before: before.with_entries(dictionary(**{f"e{n}": "x"}))
        )

    await asyncio.gather(*map(add, range(10)))
    await other.close()
    assert len((await store.read(ALICE, glossary.id)).dictionary(EN_DE).entries) == 11


async def test_change_that_always_meets_another_is_given_up(store: GlossaryStore, redis: RedisServer) -> None:
    glossary = await store.create(ALICE, draft())
    name = f"{PREFIX}glossaries:{ALICE.name}"

    def meanwhile(before: Glossary) -> Glossary:
        line = json.loads(redis.client.hget(name, glossary.id))
        redis.client.hset(name, glossary.id, json.dumps(line | {"version": line["version"] + 7}))
        return before.renamed("x")

    with pytest.raises(GlossariesUnavailableError, match="at every try"):
        await store.update(ALICE, glossary.id, meanwhile)


async def test_change_does_not_bring_a_deleted_glossary_back(store: GlossaryStore, redis: RedisServer) -> None:
    glossary = await store.create(ALICE, draft())

    def meanwhile(before: Glossary) -> Glossary:
        redis.client.delete(f"{PREFIX}glossaries:{ALICE.name}", f"{PREFIX}glossary:{ALICE.name}:{glossary.id}")
        return before.renamed("x")

    with pytest.raises(UnknownGlossaryError):
        await store.update(ALICE, glossary.id, meanwhile)
    assert await store.list_all(ALICE) == []


async def test_limit_of_an_owner_holds_for_requests_at_once(store: GlossaryStore) -> None:
    done = await asyncio.gather(
        *(store.create(ALICE, GlossaryDraft(name=f"{n}")) for n in range(MAX_GLOSSARIES + 10)), return_exceptions=True
    )
    refused = [each for each in done if isinstance(each, GlossariesFullError)]
    assert len(refused) == 10
    assert refused[0].facts == {"limit": MAX_GLOSSARIES, "unit": "glossaries"}
    listed = await store.list_all(ALICE)
    assert len(listed) == MAX_GLOSSARIES
    await store.update(ALICE, listed[0].id, lambda before: before.renamed("still possible"))
    await store.create(BOB, draft())
    await store.delete(ALICE, listed[0].id)
    await store.create(ALICE, draft())


async def test_bytes_of_all_owners_are_limited(
    store: GlossaryStore, redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(glossary_store, "MAX_STORED_BYTES", 4000)
    first = await store.create(ALICE, draft())
    await store.create(BOB, draft())
    with pytest.raises(GlossariesFullError) as caught:
        await store.create(BOB, draft(dictionary(**many_entries(60))))
    assert caught.value.facts == {"limit": 4000, "unit": "bytes"}
    with pytest.raises(GlossariesFullError):
        await store.update(ALICE, first.id, lambda before: before.with_entries(dictionary(**many_entries(60))))
    await store.delete(ALICE, first.id)
    await store.create(BOB, draft(dictionary(**many_entries(20))))
    counted = stored_bytes(redis)
    assert counted == {"all": counted[BOB.name], BOB.name: counted[BOB.name]}, (
        "an owner without glossaries is forgotten"
    )


async def test_counted_bytes_follow_changes(store: GlossaryStore, redis: RedisServer) -> None:
    glossary = await store.create(ALICE, draft())
    before = stored_bytes(redis)["all"]
    await store.update(ALICE, glossary.id, lambda each: each.with_entries(dictionary(**many_entries(100))))
    assert stored_bytes(redis)["all"] > before + 2000
    await store.update(ALICE, glossary.id, lambda each: each.with_dictionary(dictionary()))
    assert stored_bytes(redis)["all"] == before
    await store.delete(ALICE, glossary.id)
    assert stored_bytes(redis) == {"all": 0}
    assert redis.keys() == [f"{PREFIX}glossary-bytes"]


async def test_largest_glossary_comes_back_whole(store: GlossaryStore) -> None:
    entries = {f"{n} {'é' * 40}": "ü" * 40 for n in range(MAX_ENTRIES)}
    largest = GlossaryDraft.model_construct(
        name="a", dictionaries=[Dictionary.model_construct(source_lang="en", target_lang="de", entries=entries)]
    )
    glossary = await store.create(ALICE, largest)
    assert (await store.read(ALICE, glossary.id)).dictionaries[0].entries == entries
    larger = dict.fromkeys(entries, "東" * 200)
    with pytest.raises(TooLargeError, match="bytes as JSON"):
        await store.update(ALICE, glossary.id, lambda before: before.with_entries(dictionary(**larger)))


async def test_glossaries_of_a_word_live_while_used(store: GlossaryStore, redis: RedisServer, clock: HandClock) -> None:
    days = KEPT_SECONDS // 86_400
    glossary = await store.create(ALICE, draft())
    await store.create(ALICE, draft())
    assert lifetimes(redis, ALICE) == {days}
    for use in (
        store.renew(ALICE),
        store.read(ALICE, glossary.id),
        store.list_all(ALICE),
        store.info(ALICE, glossary.id),
    ):
        expire_tomorrow(redis)
        clock.now += RENEW_SECONDS + 1
        await use
        assert lifetimes(redis, ALICE) == {days}, "all of the owner's are renewed together"


async def test_uses_are_noted_once_a_day(store: GlossaryStore, redis: RedisServer, clock: HandClock) -> None:
    await store.create(ALICE, draft())
    await store.renew(ALICE)
    before = commands(redis)
    for _ in range(20):
        await store.renew(ALICE)
    assert commands(redis) - before == 1, "the question itself"
    expire_tomorrow(redis)
    clock.now += RENEW_SECONDS + 1
    await store.renew(ALICE)
    assert lifetimes(redis, ALICE) == {KEPT_SECONDS // 86_400}


async def test_remembered_renewals_are_bounded(
    store: GlossaryStore, redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(glossary_store, "MAX_RENEWED", 3)
    owners = [owner_of_word(f"word {n}") for n in range(10)]
    for owner in owners:
        await store.renew(owner)
    before = commands(redis)
    for owner in owners[-3:]:
        await store.renew(owner)
    assert commands(redis) - before == 1, "the question itself"
    await store.renew(owners[0])
    assert commands(redis) - before > 2


async def test_expired_owners_are_purged(store: GlossaryStore, redis: RedisServer, clock: HandClock) -> None:
    for n in range(PURGE_PAGE + 5):
        await store.create(owner_of_word(f"word {n}"), draft())
    await store.purge()
    assert len(redis.keys()) > 50, "not due"
    gone = owner_of_word("word 0")
    redis.client.delete(*names(redis, gone.name))
    clock.now += KEPT_SECONDS - 10
    kept = owner_of_word("word 1")
    await store.renew(kept)
    clock.now += 20
    await store.purge()
    counted = stored_bytes(redis)
    assert counted == {"all": counted[kept.name], kept.name: counted[kept.name]}
    assert len(await store.list_all(kept)) == 1
    assert redis.client.zcard(f"{PREFIX}glossary-owners") == 1


def expire_before_the_purge(redis: RedisServer, owner: GlossaryOwner) -> None:
    redis.client.delete(*names(redis, owner.name))


async def test_bytes_of_an_expired_list_end_with_its_owners_return(store: GlossaryStore, redis: RedisServer) -> None:
    await store.create(ALICE, draft())
    counted = stored_bytes(redis)
    expire_before_the_purge(redis, ALICE)
    glossary = await store.create(ALICE, draft())
    assert stored_bytes(redis) == counted
    await store.delete(ALICE, glossary.id)
    assert stored_bytes(redis) == {"all": 0}


async def test_last_deletion_forgets_all_bytes_of_its_owner(store: GlossaryStore, redis: RedisServer) -> None:
    glossary = await store.create(ALICE, draft())
    redis.client.hincrby(f"{PREFIX}glossary-bytes", "all", 5000)  # as an older version left them
    redis.client.hincrby(f"{PREFIX}glossary-bytes", ALICE.name, 5000)
    await store.delete(ALICE, glossary.id)
    assert stored_bytes(redis) == {"all": 0}


async def test_glossaries_live_as_long_as_their_key(store: GlossaryStore, redis: RedisServer, clock: HandClock) -> None:
    redis.client.set(f"{PREFIX}key:0123456789ab", "its record")
    glossary = await store.create(KEY, draft())
    for _ in range(100):
        clock.now += 2 * 86_400
        await store.tick()
    assert await store.read(KEY, glossary.id) == glossary
    redis.client.delete(f"{PREFIX}key:0123456789ab")
    clock.now += 2 * 86_400
    await store.tick()
    assert redis.keys() == [f"{PREFIX}glossary-bytes"]
    assert stored_bytes(redis) == {"all": 0}


async def test_full_store_counts_no_expired_glossaries(
    store: GlossaryStore, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(glossary_store, "MAX_STORED_BYTES", 2000)
    await store.create(ALICE, draft())
    with pytest.raises(GlossariesFullError):
        await store.create(BOB, draft())
    clock.now += KEPT_SECONDS + 1
    await store.create(BOB, draft())


async def test_unreadable_records_are_left_out(
    store: GlossaryStore, redis: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    good, bad = await store.create(ALICE, draft()), await store.create(ALICE, draft())
    redis.client.set(f"{PREFIX}glossary:{ALICE.name}:{bad.id}", '{"secret text": 3}', keepttl=True)
    with pytest.raises(UnknownGlossaryError):
        await store.read(ALICE, bad.id)
    redis.client.hset(f"{PREFIX}glossaries:{ALICE.name}", bad.id, '{"version": 1, "size": 1}')
    assert await store.list_all(ALICE) == [good.info]
    assert "record cannot be read" in caplog.text
    assert "secret" not in caplog.text
    await store.delete(ALICE, bad.id)


async def test_absent_redis_is_an_error_of_ours(caplog: pytest.LogCaptureFixture) -> None:
    store = GlossaryStore(nowhere(), PREFIX, 1.0, HandClock())
    for call in (
        store.create(ALICE, draft()),
        store.list_all(ALICE),
        store.read(ALICE, NEVER),
        store.info(KEY, NEVER),
        store.update(KEY, NEVER, lambda before: before),
        store.delete(ALICE, NEVER),
        store.purge(),
    ):
        with pytest.raises(GlossariesUnavailableError, match="cannot be read or changed now") as caught:
            await call
        assert caught.value.retry_after is not None
        assert "127.0.0.1" not in caught.value.detail
    await store.renew(ALICE)
    await store.tick()
    assert "glossaries cannot be purged" in caplog.text
    await store.close()


async def test_owners_change_glossaries_in_turn(store: GlossaryStore) -> None:
    """One owner with many changes of large glossaries makes the others wait for one."""
    hostile, neighbour = await store.create(ALICE, draft()), await store.create(BOB, draft())
    changed: list[str] = []

    async def change(owner: GlossaryOwner, glossary: Glossary) -> None:
        def renamed(before: Glossary) -> Glossary:
            changed.append(owner.name)
            return before.renamed("New")

        await store.update(owner, glossary.id, renamed)

    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        for _ in range(20):
            group.create_task(change(ALICE, hostile))
        group.create_task(change(BOB, neighbour))
    assert changed.index(BOB.name) == 2
    assert len(changed) == 21
