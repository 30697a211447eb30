"""Records of which the latest wins: copies of two proxies, and a hash in a real Redis."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typing_extensions import override

from proxy.storage.connection import RedisConnection
from proxy.storage.latest_copy import LatestCopy
from proxy.storage.records import LatestRecords
from tests.conftest import PREFIX, RedisServer
from tests.proxy.storage.connections import CODEC, Note, connection_to, name_of
from tests.support.clock import HandClock

REGISTER = f"{PREFIX}register"
AT = 1_800_000_000.123456


class Copy(LatestCopy[Note]):
    """A copy in which records end when the clock says so."""

    def __init__(self, clock: HandClock) -> None:
        super().__init__(name_of, clock)

    @override
    def expired_in(self, stored: Any) -> list[str]:
        return [each.name for each in stored if each.at + 60 <= self._clock()]

    @override
    def _kept(self, records: list[Note]) -> list[Note]:
        return [each for each in records if each.at + 60 > self._clock()]


def nothing() -> None:
    """Hear of no change."""


def register(connection: RedisConnection) -> LatestRecords[Note]:
    return LatestRecords(connection, CODEC, REGISTER, name_of, 100)


async def test_only_a_later_record_replaces_one(redis: RedisServer) -> None:
    async with connection_to(redis.url) as connection:
        records, kept = register(connection), Note(name="a", at=AT)
        await records.write([kept])
        for at in (AT, AT - 0.000001):
            await records.write([Note(name="a", at=at, count=9), Note(name="b", at=at)])
            assert kept in await records.read(renew=False)
        later = Note(name="a", at=AT + 0.000001)
        await records.write([later])
        assert later in await records.read(renew=False)
        await records.delete(["a"])
        assert await records.read(renew=False) == [Note(name="b", at=AT)]


@pytest.mark.parametrize("unreadable", ["no JSON", "[]", '{"at": "x"}', '{"later": 1}', '{"name": 1, "at": 1}'])
async def test_unreadable_record_yields_to_a_later_one(redis: RedisServer, unreadable: str) -> None:
    async with connection_to(redis.url) as connection:
        records = register(connection)
        redis.client.hset(REGISTER, "a", unreadable)
        assert await records.read(renew=False) == []
        await records.write([Note(name="a", at=AT)])
        assert await records.read(renew=False) == [Note(name="a", at=AT)]


async def test_record_of_a_newer_version_is_left_alone(redis: RedisServer) -> None:
    newer, copy = '{"newer": true, "at": 1800000001}', Copy(HandClock())
    async with connection_to(redis.url) as connection:
        redis.client.hset(REGISTER, "a", newer)
        copy.put(Note(name="a", at=AT))
        await register(connection).sync(copy, nothing, renew=True)
        assert redis.client.hget(REGISTER, "a") == newer


async def test_copies_meet_in_redis(redis: RedisServer) -> None:
    clock, changes = HandClock(), list[str]()
    one, two = Copy(clock), Copy(clock)
    one.put(Note(name="a", at=clock.now))
    two.put(Note(name="a", at=clock.now - 1))
    two.put(Note(name="b", at=clock.now))
    async with connection_to(redis.url) as connection:
        records = register(connection)
        for name, copy in (("one", one), ("two", two), ("one", one), ("two", two)):
            await records.sync(copy, lambda name=name: changes.append(name), renew=True)
        assert one.get("a") == two.get("a") == Note(name="a", at=clock.now)
        assert one.get("b") == two.get("b")
        assert changes == ["two", "one"]
        assert 0 < redis.client.ttl(REGISTER) <= 100
        clock.now += 60
        await records.sync(one, nothing, renew=True)
        assert (one.all(), redis.client.hgetall(REGISTER)) == ([], {})


def test_change_after_the_clock_was_set_back_is_later() -> None:
    clock = HandClock()
    copy = Copy(clock)
    copy.put(Note(name="a", at=clock.now))
    clock.now -= 500
    assert copy.next_at("a") > 1000.0
    assert copy.next_at("b") == clock.now


NOTES = st.lists(
    st.builds(Note, name=st.sampled_from("ab"), at=st.floats(1000, 2000)), max_size=8, unique_by=lambda each: each.at
)


@given(NOTES, st.randoms())
def test_merge_result_is_independent_of_order(notes: list[Note], rng: Random) -> None:
    one, two = Copy(HandClock()), Copy(HandClock())
    one.merge(notes)
    for each in rng.sample(notes, len(notes)):
        two.merge([each])
    assert {each.name: each for each in one.all()} == {each.name: each for each in two.all()}
    assert one.missing_in(two.all()) == []
    assert one.missing_in([]) == one.all()
