"""The fleet's store, with a real Redis."""

from __future__ import annotations

import json
import string
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import pytest
from pydantic import BaseModel, ValidationError

from proxy.fleet.expected_replicas import Expectation
from proxy.fleet.overrides import Override, OverrideKind
from proxy.fleet.replica import Replica
from proxy.fleet.store import OVERRIDES_SECONDS, REMEMBERED_SECONDS, FleetStore
from proxy.storage.connection import StoreUnavailableError
from proxy.storage.records import NAMES
from shared.languages import LanguagePair
from tests.conftest import PREFIX, RedisServer
from tests.proxy.samples import pair, replica, report
from tests.support.waiting import wait_until

# Where Redis is away; elsewhere a machine with other work may keep an answer back for long.
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


async def test_known_pairs_of_many_pages_are_read(store: FleetStore, redis: RedisServer) -> None:
    letters = string.ascii_lowercase
    tags = [first + second for first in letters for second in letters]
    seen = {LanguagePair("en", tag): time.time() - 1 for tag in tags} | {pair("en>de"): time.time()}
    assert len(seen) > NAMES
    await store.write((), seen, 5)
    assert (await store.read())[1] == pytest.approx(seen)
    assert redis.client.ttl(f"{PREFIX}pairs") > 0


async def test_written_records_are_read_and_every_key_has_a_ttl(store: FleetStore, redis: RedisServer) -> None:
    fleet = [replica("http://a", "en>de", starting=("en>zh-Hant",)), replica("http://b").silent("x", 1.0, max_misses=1)]
    seen = {pair("en>de"): time.time(), pair("en>zh-Hant"): time.time() - 5}
    await store.write(fleet, seen, 5)
    found, known = await store.read()
    assert sorted(found, key=lambda each: each.url) == fleet
    assert known == pytest.approx(seen)
    assert redis.keys() == [
        f"{PREFIX}pairs",
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

    await wait_until(ended, 5, "the record ends")
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


async def test_registers_live_long_after_the_last_renewal(store: FleetStore, redis: RedisServer) -> None:
    at = 1_800_000_000.123456
    await store.overrides.write([Override(url="http://a:1", verdict=OverrideKind.DRAINED, at=at, since=at, weight=2.5)])
    await store.expected.write([Expectation(service="a", count=3, at=at, learnt=False)])
    for register, name in ((store.overrides, "changes"), (store.expected, "expected")):
        redis.client.expire(f"{PREFIX}{name}", 100)
        await register.read(renew=False)
        assert redis.client.ttl(f"{PREFIX}{name}") <= 100
        await register.read(renew=True)
        assert redis.client.ttl(f"{PREFIX}{name}") > OVERRIDES_SECONDS - 100


async def test_unreadable_records_are_left_out_and_left_alone(store: FleetStore, redis: RedisServer) -> None:
    for unreadable in ("no JSON", "[]", '{"at": "x"}', '{"url": "http://a:1/path", "at": 1}', '{"count": 1e99}'):
        redis.client.hset(f"{PREFIX}changes", "http://a:1", unreadable)
        redis.client.hset(f"{PREFIX}expected", "a", unreadable)
        assert await store.overrides.read(renew=True) == []
        assert await store.expected.read(renew=True) == []
        assert redis.client.hvals(f"{PREFIX}changes") == redis.client.hvals(f"{PREFIX}expected") == [unreadable]
