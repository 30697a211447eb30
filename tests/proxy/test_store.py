"""The store and the registry over it, with a real Redis."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from random import Random

import pytest

from proxy.evidence import LocalEvidence
from proxy.registry import MAX_REMEMBERED_PAIRS, Registry
from proxy.store import REMEMBERED_SECONDS, Store, StoreUnavailableError
from tests.conftest import PREFIX, RedisAtHand
from tests.proxy.proxies import nowhere
from tests.proxy.samples import pair, replica
from tests.waiting import wait_until

TIMEOUT = 0.25


@asynccontextmanager
async def store_at(url: str, clock: Callable[[], float] = time.time) -> AsyncGenerator[Store]:
    store = Store(url, PREFIX, TIMEOUT, clock)
    try:
        yield store
    finally:
        await store.close()


@pytest.fixture
async def store(redis: RedisAtHand) -> AsyncGenerator[Store]:
    async with store_at(redis.url) as one:
        yield one


def registry_over(store: Store, owner: str = "me", clock: Callable[[], float] = time.time) -> Registry:
    evidence = LocalEvidence(time.monotonic, Random(1))  # noqa: S311 - picks, not secrets
    return Registry(store, evidence, owner, report_ttl=5, lease_ttl=5, clock=clock)


async def test_the_lease_is_one_proxys_until_it_gives_it_back(store: Store) -> None:
    assert await store.hold_lease("a", 5)
    assert not await store.hold_lease("b", 5)
    await store.release_lease("b")
    assert not await store.hold_lease("b", 5), "nobody gives back what is another's"
    await store.release_lease("a")
    assert await store.hold_lease("b", 5)


async def test_the_lease_is_renewed_by_its_holder_and_ends_by_itself(store: Store, redis: RedisAtHand) -> None:
    assert await store.hold_lease("a", 0.3)
    assert await store.hold_lease("a", 5)
    assert redis.client.pttl(f"{PREFIX}prober") > 4000
    assert await store.hold_lease("a", 0.1)

    async def taken() -> bool:
        return await store.hold_lease("b", 5)

    await wait_until(taken, 2, "the lease ends")


async def test_only_one_of_many_gets_the_lease(redis: RedisAtHand) -> None:
    async def take(name: str) -> bool:
        async with store_at(redis.url) as own:
            return await own.hold_lease(name, 5)

    assert sum(await asyncio.gather(*(take(str(n)) for n in range(20)))) == 1


async def test_what_is_written_is_read_and_every_key_has_a_life_time(store: Store, redis: RedisAtHand) -> None:
    fleet = [replica("http://a", "en>de", starting=("en>zh-Hant",)), replica("http://b").silent("x", 1.0, patience=1)]
    seen = {pair("en>de"): time.time(), pair("en>zh-Hant"): time.time() - 5}
    await store.hold_lease("a", 5)
    await store.write(fleet, seen, 5)
    found, known = await store.read()
    assert sorted(found, key=lambda each: each.url) == fleet
    assert known == pytest.approx(seen)
    assert redis.keys() == [
        f"{PREFIX}pairs",
        f"{PREFIX}prober",
        f"{PREFIX}replica:http://a",
        f"{PREFIX}replica:http://b",
        f"{PREFIX}replicas",
    ]
    redis.check_keys()


async def test_an_empty_fleet_and_an_empty_redis_are_nothing_special(store: Store) -> None:
    assert await store.read() == ([], {})
    await store.write([], {}, 5)
    assert await store.read() == ([], {})


async def test_records_end_with_their_life_time_and_the_pairs_stay(store: Store) -> None:
    await store.write([replica("http://a", "en>de")], {pair("en>de"): time.time()}, 0.1)

    async def ended() -> bool:
        return (await store.read())[0] == []

    await wait_until(ended, 2, "the record ends")
    assert list((await store.read())[1]) == [pair("en>de")]


async def test_a_replica_that_left_is_dropped_from_the_index(redis: RedisAtHand) -> None:
    now = 1000.0
    async with store_at(redis.url, lambda: now) as store:
        await store.write([replica("http://a"), replica("http://b")], {}, 5)
        now += 6
        await store.write([replica("http://a")], {}, 5)
        assert redis.client.zrange(f"{PREFIX}replicas", 0, -1) == ["http://a"]


async def test_a_pair_is_forgotten_after_a_day_and_no_older_sight_ages_it(redis: RedisAtHand) -> None:
    now = 1_000_000.0
    async with store_at(redis.url, lambda: now) as store:
        await store.write([], {pair("en>de"): now}, 5)
        await store.write([], {pair("en>de"): now - 100, pair("en>fr"): now}, 5)
        assert (await store.read())[1][pair("en>de")] == now
        now += REMEMBERED_SECONDS - 1
        await store.write([], {}, 5)
        assert len((await store.read())[1]) == 2
        now += 2
        await store.write([], {}, 5)
        assert (await store.read())[1] == {}


async def test_records_and_pairs_of_another_version_are_left_out(store: Store, redis: RedisAtHand) -> None:
    await store.write([replica("http://a")], {pair("en>de"): time.time()}, 5)
    redis.client.set(f"{PREFIX}replica:http://b", '{"later": 1}', px=5000)
    redis.client.zadd(f"{PREFIX}replicas", {"http://b": 1.0, "http://gone": 1.0})
    redis.client.zadd(f"{PREFIX}pairs", {"en>via>de": 1.0, "nonsense": 1.0})
    found, known = await store.read()
    assert [each.url for each in found] == ["http://a"]
    assert list(known) == [pair("en>de")]


async def test_a_key_of_another_type_is_an_error_of_redis_and_nothing_worse(store: Store, redis: RedisAtHand) -> None:
    redis.client.set(f"{PREFIX}replicas", "not a set", px=5000)
    with pytest.raises(StoreUnavailableError):
        await store.read()
    with pytest.raises(StoreUnavailableError):
        await store.write([replica("http://a")], {}, 5)


async def test_a_redis_that_is_not_there_is_said_at_once() -> None:
    async with store_at(nowhere()) as store:
        for call in (store.hold_lease("a", 1), store.release_lease("a"), store.read(), store.write([], {}, 1)):
            started = time.perf_counter()
            with pytest.raises(StoreUnavailableError, match="Redis"):
                await call
            assert time.perf_counter() - started < TIMEOUT


async def test_a_frozen_redis_costs_no_more_than_the_timeout_and_is_usable_right_after(own_redis: RedisAtHand) -> None:
    async with store_at(own_redis.url) as store:
        assert await store.hold_lease("a", 60)
        own_redis.server.signal(signal.SIGSTOP)
        try:
            for call in (store.hold_lease("a", 60), store.read(), store.write([replica("http://a")], {}, 1)):
                started = time.perf_counter()
                with pytest.raises(StoreUnavailableError):
                    await call
                assert time.perf_counter() - started < 2 * TIMEOUT + 0.2
        finally:
            own_redis.server.signal(signal.SIGCONT)

        async def answers() -> bool:
            try:
                return await store.hold_lease("a", 60)
            except StoreUnavailableError:
                return False

        await wait_until(answers, 2, "usable again, and no answer of an older call is taken for a newer one's")
        for _ in range(20):
            assert await store.hold_lease("a", 60)
            assert not await store.hold_lease("b", 60)


async def test_a_restarted_redis_is_usable_at_once(own_redis: RedisAtHand) -> None:
    async with store_at(own_redis.url) as store:
        assert await store.hold_lease("a", 60)
        own_redis.restart()

        async def answers() -> bool:
            try:
                return await store.hold_lease("b", 60)
            except StoreUnavailableError:
                return False

        await wait_until(answers, 2, "the lease of the empty Redis is free")


async def test_a_call_that_is_cancelled_leaves_no_answer_for_the_next(store: Store) -> None:
    await store.hold_lease("a", 60)
    for _ in range(50):
        task = asyncio.create_task(store.read())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert await store.hold_lease("a", 60) is True
        assert await store.hold_lease("b", 60) is False


async def test_without_redis_every_proxy_leads_for_itself_but_holds_no_lease() -> None:
    async with store_at(nowhere()) as store:
        registry = registry_over(store)
        assert await registry.lead()
        assert not registry.leading
        assert registry.redis_error is not None
        registry.adopt([replica("http://a", "en>de")])
        await registry.publish()
        await registry.resign()
        assert await registry.shared() == {}
        assert registry.swept


async def test_one_proxy_leads_and_the_other_reads_what_it_published(redis: RedisAtHand) -> None:
    async with store_at(redis.url) as one, store_at(redis.url) as two:
        leader, follower = registry_over(one, "a"), registry_over(two, "b")
        assert await leader.lead()
        assert not await follower.lead()
        leader.adopt([replica("http://a", "en>de")])
        await leader.publish()
        shared = await follower.shared()
        assert shared == leader.snapshot.replicas
        await leader.resign()
        assert await follower.lead()


async def test_a_proxy_that_starts_recalls_the_pairs_of_replicas_that_are_gone(redis: RedisAtHand) -> None:
    async with store_at(redis.url) as store:
        before = registry_over(store, "a")
        await before.lead()
        before.adopt([replica("http://a", "en>de")])
        await before.publish()
        after = registry_over(store, "b")
        await after.recall()
        after.adopt([])
        assert after.snapshot.ready == {pair("en>de"): ()}


async def test_pairs_are_remembered_for_a_day_in_memory_too() -> None:
    now = 1000.0
    async with store_at(nowhere()) as store:
        registry = registry_over(store, clock=lambda: now)
        registry.adopt([replica("http://a", "en>de")])
        now += REMEMBERED_SECONDS - 1
        registry.adopt([])
        assert pair("en>de") in registry.snapshot.ready
        now += 2
        registry.adopt([])
        assert pair("en>de") not in registry.snapshot.ready


async def test_a_broken_replica_can_not_fill_the_memory() -> None:
    async with store_at(nowhere()) as store:
        registry = registry_over(store)
        registry.adopt(replica(f"http://{n}", *(f"l{n}>x{k}" for k in range(1000))) for n in range(21))
        registry.adopt([])
        assert len(registry.snapshot.ready) == MAX_REMEMBERED_PAIRS
