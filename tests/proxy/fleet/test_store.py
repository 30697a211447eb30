"""The fleet's store, with a real Redis."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress

import pytest
from pydantic import BaseModel, ValidationError

from proxy.fleet.expected_replicas import Expectation
from proxy.fleet.overrides import Override, OverrideKind
from proxy.fleet.replica import Replica
from proxy.fleet.store import OVERRIDES_SECONDS, REMEMBERED_SECONDS, FleetStore
from proxy.redis_client import StoreUnavailableError
from tests.conftest import PREFIX, RedisServer
from tests.proxy.proxies import nowhere
from tests.proxy.samples import pair, replica, report
from tests.support.waiting import Awake, wait_until

# Where Redis is away; elsewhere a machine with other work may keep an answer back for long.
TIMEOUT = 0.25
PATIENT = 5.0


class PairsOfEarlierVersions(BaseModel):
    """What of a report every earlier version reads."""

    pairs: dict[str, object]


def pairs_version(*ready: str) -> str:
    return report(*ready).pairs.version


@asynccontextmanager
async def store_at(
    url: str, clock: Callable[[], float] = time.time, patience: float = PATIENT
) -> AsyncGenerator[FleetStore]:
    store = FleetStore(url, PREFIX, patience, clock)
    try:
        yield store
    finally:
        await store.close()


@pytest.fixture
async def store(redis: RedisServer) -> AsyncGenerator[FleetStore]:
    async with store_at(redis.url) as one:
        yield one


async def test_lease_is_exclusive_until_released(store: FleetStore) -> None:
    assert await store.hold_lease("a", 5)
    assert not await store.hold_lease("b", 5)
    await store.release_lease("b")
    assert not await store.hold_lease("b", 5), "nobody gives back what is another's"
    await store.release_lease("a")
    assert await store.hold_lease("b", 5)


async def test_lease_is_renewed_by_its_holder_and_expires(store: FleetStore, redis: RedisServer) -> None:
    assert await store.hold_lease("a", 0.3)
    assert await store.hold_lease("a", 5)
    assert redis.client.pttl(f"{PREFIX}prober") > 4000
    assert await store.hold_lease("a", 0.1)

    async def taken() -> bool:
        return await store.hold_lease("b", 5)

    await wait_until(taken, 2, "the lease ends")


async def test_one_of_many_gets_the_lease(redis: RedisServer) -> None:
    async def take(name: str) -> bool:
        async with store_at(redis.url) as own:
            return await own.hold_lease(name, 5)

    assert sum(await asyncio.gather(*(take(str(n)) for n in range(20)))) == 1


async def test_written_records_are_read_and_every_key_has_a_ttl(store: FleetStore, redis: RedisServer) -> None:
    fleet = [replica("http://a", "en>de", starting=("en>zh-Hant",)), replica("http://b").silent("x", 1.0, max_misses=1)]
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
        *sorted(f"{PREFIX}served:{each.report.pairs.version}" for each in fleet if each.report is not None),
    ]
    redis.check_keys()


async def test_empty_fleet_and_empty_redis_are_read(store: FleetStore) -> None:
    assert await store.read() == ([], {})
    await store.write([], {}, 5)
    assert await store.read() == ([], {})


async def test_records_expire_and_pairs_stay(store: FleetStore) -> None:
    await store.write([replica("http://a", "en>de")], {pair("en>de"): time.time()}, 0.1)

    async def ended() -> bool:
        return (await store.read())[0] == []

    await wait_until(ended, 2, "the record ends")
    assert list((await store.read())[1]) == [pair("en>de")]


async def test_replica_that_left_is_dropped_from_the_index(redis: RedisServer) -> None:
    now = 1000.0
    async with store_at(redis.url, lambda: now) as store:
        await store.write([replica("http://a"), replica("http://b")], {}, 5)
        now += 6
        await store.write([replica("http://a")], {}, 5)
        assert redis.client.zrange(f"{PREFIX}replicas", 0, -1) == ["http://a"]


async def test_pair_is_forgotten_after_a_day(redis: RedisServer) -> None:
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


async def test_records_of_another_version_are_left_out(store: FleetStore, redis: RedisServer) -> None:
    await store.write([replica("http://a")], {pair("en>de"): time.time()}, 5)
    redis.client.set(f"{PREFIX}replica:http://b", '{"later": 1}', px=5000)
    redis.client.zadd(f"{PREFIX}replicas", {"http://b": 1.0, "http://gone": 1.0})
    redis.client.zadd(f"{PREFIX}pairs", {"en>via>de": 1.0, "nonsense": 1.0})
    found, known = await store.read()
    assert [each.url for each in found] == ["http://a"]
    assert list(known) == [pair("en>de")]


async def test_records_without_pairs_version_are_read(store: FleetStore, redis: RedisServer) -> None:
    """As proxies of earlier versions write them."""
    old = replica("http://a", "en>de", pairs_version=None)
    redis.client.set(f"{PREFIX}replica:http://a", old.model_dump_json(), px=5000)
    redis.client.zadd(f"{PREFIX}replicas", {"http://a": 1.0})
    redis.client.pexpire(f"{PREFIX}replicas", 5000)
    assert (await store.read())[0] == [old]


async def test_records_name_pairs_that_are_kept_once(store: FleetStore, redis: RedisServer) -> None:
    fleet = [
        replica("http://a", "en>de"),
        replica("http://b", "en>de"),
        replica("http://c", "en>fr"),
        Replica.unseen("http://d", 1.0),
    ]
    await store.write(fleet, {}, 5)
    record = json.loads(redis.client.get(f"{PREFIX}replica:http://a"))
    with pytest.raises(
        ValidationError
    ):  # a proxy of an earlier version probes for itself: it must not think that nothing is served
        PairsOfEarlierVersions.model_validate(record["report"])
    assert len(redis.client.keys(f"{PREFIX}served:*")) == 2
    async with store_at(redis.url) as other:
        for _ in range(2):
            found, _ = await other.read()
            assert found == fleet
            assert found[0].report is not None
            assert found[1].report is not None
            assert found[0].report.pairs is found[1].report.pairs


async def test_record_whose_pairs_expired_is_left_out(store: FleetStore, redis: RedisServer) -> None:
    await store.write([replica("http://a", "en>de"), replica("http://b", "en>fr")], {}, 5)
    redis.client.delete(f"{PREFIX}served:{pairs_version('en>de')}")
    redis.client.set(f"{PREFIX}served:{pairs_version('en>fr')}", "[]", px=5000)
    async with store_at(redis.url) as other:
        assert (await other.read())[0] == []


async def test_key_of_another_type_is_unavailable_error(store: FleetStore, redis: RedisServer) -> None:
    redis.client.set(f"{PREFIX}replicas", "not a set", px=5000)
    with pytest.raises(StoreUnavailableError):
        await store.read()
    with pytest.raises(StoreUnavailableError):
        await store.write([replica("http://a")], {}, 5)


async def test_missing_redis_is_unavailable_error_at_once() -> None:
    async with store_at(nowhere(), patience=TIMEOUT) as store:
        for call in (store.hold_lease("a", 1), store.release_lease("a"), store.read(), store.write([], {}, 1)):
            with Awake() as awake, pytest.raises(StoreUnavailableError, match="Redis"):
                await call
            assert awake.seconds < TIMEOUT


async def test_frozen_redis_costs_no_more_than_the_timeout(own_redis: RedisServer) -> None:
    async with store_at(own_redis.url, patience=TIMEOUT) as store:
        assert await store.hold_lease("a", 60)
        own_redis.server.signal(signal.SIGSTOP)
        try:
            for call in (store.hold_lease("a", 60), store.read(), store.write([replica("http://a")], {}, 1)):
                with Awake() as awake, pytest.raises(StoreUnavailableError):
                    await call
                assert awake.seconds < 2 * TIMEOUT + 0.2
        finally:
            own_redis.server.signal(signal.SIGCONT)

        async def answers() -> bool:
            try:
                return await store.hold_lease("a", 60)
            except StoreUnavailableError:
                return False

        await wait_until(answers, 2, "usable again, and no answer of an older call is taken for a newer one's")

        async def answer(owner: str) -> bool:  # a machine with other work may keep it back once more
            while True:
                with suppress(StoreUnavailableError):
                    return await store.hold_lease(owner, 60)

        for _ in range(20):
            assert await answer("a")
            assert not await answer("b")


async def test_restarted_redis_is_usable_at_once(own_redis: RedisServer) -> None:
    async with store_at(own_redis.url) as store:
        assert await store.hold_lease("a", 60)
        own_redis.restart()

        async def answers() -> bool:
            try:
                return await store.hold_lease("b", 60)
            except StoreUnavailableError:
                return False

        await wait_until(answers, 2, "the lease of the empty Redis is free")


async def test_cancelled_call_leaves_no_answer_for_the_next(store: FleetStore) -> None:
    await store.hold_lease("a", 60)
    for _ in range(50):
        task = asyncio.create_task(store.read())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert await store.hold_lease("a", 60) is True
        assert await store.hold_lease("b", 60) is False


def drained(url: str, at: float, weight: float | None = None) -> Override:
    return Override(url=url, verdict=OverrideKind.DRAINED, at=at, since=at, weight=weight)


async def test_override_is_read_and_lives_long(store: FleetStore, redis: RedisServer) -> None:
    assert await store.read_overrides(renew=True) == []
    changes = [drained("http://a:1", 1_800_000_000.123456, 2.5), drained("http://b:1", 5.0)]
    await store.write_overrides(changes)
    redis.client.expire(f"{PREFIX}changes", 100)
    assert sorted(await store.read_overrides(renew=False), key=lambda each: each.url) == changes
    assert redis.client.ttl(f"{PREFIX}changes") <= 100
    await store.read_overrides(renew=True)
    assert redis.client.ttl(f"{PREFIX}changes") > OVERRIDES_SECONDS - 100
    await store.delete_overrides(["http://a:1"])
    assert await store.read_overrides(renew=False) == changes[1:]


async def test_older_override_never_replaces_a_later_one(store: FleetStore, redis: RedisServer) -> None:
    at = 1_800_000_000.123456
    later = drained("http://a:1", at, 3.0)
    await store.write_overrides([later])
    await store.write_overrides([drained("http://a:1", at - 0.000001), drained("http://b:1", at)])
    assert later in await store.read_overrides(renew=False)
    await store.write_overrides([drained("http://a:1", at + 0.000001)])
    assert later not in await store.read_overrides(renew=False)
    for unreadable in ("no JSON", "[]", '{"at": "x"}', '{"later": 1}', '{"url": "http://a:1/path", "at": 1}'):
        redis.client.hset(f"{PREFIX}changes", "http://a:1", unreadable)
        assert [each.url for each in await store.read_overrides(renew=False)] == ["http://b:1"]
        await store.write_overrides([later])
        assert later in await store.read_overrides(renew=False)


async def test_expectations_are_read_and_live_long(store: FleetStore, redis: RedisServer) -> None:
    assert await store.read_expected(renew=True) == []
    two = [Expectation(service="a", count=3, at=1_800_000_000.123456, learnt=False), Expectation(service="b", count=1)]
    await store.write_expected(two)
    redis.client.expire(f"{PREFIX}expected", 100)
    assert sorted(await store.read_expected(renew=False), key=lambda each: each.service) == two
    assert redis.client.ttl(f"{PREFIX}expected") <= 100
    await store.read_expected(renew=True)
    assert redis.client.ttl(f"{PREFIX}expected") > OVERRIDES_SECONDS - 100


async def test_older_or_smaller_expectation_replaces_nothing(store: FleetStore, redis: RedisServer) -> None:
    at = 1_800_000_000.123456
    kept = Expectation(service="a", count=3, at=at)
    await store.write_expected([kept])
    for other in (kept.model_copy(update={"count": 2}), kept.model_copy(update={"at": at - 0.000001, "count": 9})):
        await store.write_expected([other])
        assert await store.read_expected(renew=False) == [kept]
    for other in (kept.model_copy(update={"count": 4}), kept.model_copy(update={"at": at + 0.000001, "count": 0})):
        await store.write_expected([other])
        assert await store.read_expected(renew=False) == [other]
    for unreadable in ("no JSON", "[]", '{"at": "x"}', '{"service": "a", "count": -1}', '{"count": 1e99}'):
        redis.client.hset(f"{PREFIX}expected", "a", unreadable)
        assert await store.read_expected(renew=False) == []
    redis.client.hset(f"{PREFIX}expected", "a", "no JSON")
    await store.write_expected([kept])
    assert await store.read_expected(renew=False) == [kept]
