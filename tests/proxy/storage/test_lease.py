"""Leases in a real Redis, and the prober's."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncGenerator
from contextlib import suppress

import pytest

from proxy.storage.connection import RedisConnection, StoreUnavailableError
from proxy.storage.scripts import hold_lease
from tests.conftest import PREFIX, RedisServer
from tests.proxy.fleet.registries import A, proxy_at
from tests.proxy.proxies import nowhere
from tests.proxy.samples import replica
from tests.proxy.storage.connections import connection_to
from tests.support.waiting import Awake, wait_until

# Where Redis is away; elsewhere a machine with other work may keep an answer back for long.
TIMEOUT = 0.25


@pytest.fixture
async def connection(redis: RedisServer) -> AsyncGenerator[RedisConnection]:
    async with connection_to(redis.url) as one:
        yield one


async def hold(connection: RedisConnection, owner: str, seconds: float) -> bool:
    """Take, renew or (for 0 s) release the lease."""
    return bool(await hold_lease(connection, f"{PREFIX}prober", owner, int(seconds * 1000)))


async def test_lease_is_exclusive_until_released(connection: RedisConnection) -> None:
    assert await hold(connection, "a", 5)
    assert not await hold(connection, "b", 5)
    await hold(connection, "b", 0)
    assert not await hold(connection, "b", 5), "nobody gives back what is another's"
    await hold(connection, "a", 0)
    assert await hold(connection, "b", 5)


async def test_lease_is_renewed_by_its_holder_and_expires(connection: RedisConnection, redis: RedisServer) -> None:
    assert await hold(connection, "a", 0.3)
    assert await hold(connection, "a", 60)
    assert redis.client.pttl(f"{PREFIX}prober") > 5000
    assert await hold(connection, "a", 0.1)

    async def taken() -> bool:
        return await hold(connection, "b", 5)

    await wait_until(taken, 5, "the lease ends")


async def test_one_of_many_gets_the_lease(redis: RedisServer) -> None:
    async def take(name: str) -> bool:
        async with connection_to(redis.url) as own:
            return await hold(own, name, 5)

    assert sum(await asyncio.gather(*(take(str(n)) for n in range(20)))) == 1


async def test_restarted_redis_is_usable_at_once(own_redis: RedisServer) -> None:
    async with connection_to(own_redis.url) as connection:
        assert await hold(connection, "a", 60)
        own_redis.restart()

        async def answers() -> bool:
            try:
                return await hold(connection, "b", 60)
            except StoreUnavailableError:
                return False

        await wait_until(answers, 5, "the lease of the empty Redis is free")


async def test_cancelled_call_leaves_no_answer_for_the_next(connection: RedisConnection) -> None:
    await hold(connection, "a", 60)
    for _ in range(50):
        task = asyncio.create_task(connection.call("KEYS", "*"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert await hold(connection, "a", 60) is True
        assert await hold(connection, "b", 60) is False


async def test_thawed_redis_gives_each_call_its_own_answer(own_redis: RedisServer) -> None:
    async with connection_to(own_redis.url, TIMEOUT) as connection:
        assert await hold(connection, "a", 60)
        own_redis.server.signal(signal.SIGSTOP)
        try:
            with Awake() as awake, pytest.raises(StoreUnavailableError):
                await hold(connection, "a", 60)
            assert awake.seconds < TIMEOUT + 0.2
        finally:
            own_redis.server.signal(signal.SIGCONT)

        async def answers() -> bool:
            try:
                return await hold(connection, "a", 60)
            except StoreUnavailableError:
                return False

        await wait_until(answers, 5, "usable again, and no answer of an older call is taken for a newer one's")

        async def answer(owner: str) -> bool:  # a machine with other work may keep it back once more
            while True:
                with suppress(StoreUnavailableError):
                    return await hold(connection, owner, 60)

        for _ in range(20):
            assert await answer("a")
            assert not await answer("b")


async def test_no_proxy_holds_the_lease_without_redis() -> None:
    async with proxy_at(nowhere()) as one:
        assert one.registry.redis_is_away
        assert not one.registry.is_leader
        assert one.registry.redis_error is not None
        one.adopt(replica(A, "en>de"))
        await one.registry.publish()
        await one.lease.resign()
        await one.registry.sync_changes()
        assert await one.registry.read_shared() == {}


async def test_holder_stops_leading_when_redis_hangs(own_redis: RedisServer) -> None:
    now = 100.0
    async with proxy_at(own_redis.url, "a", monotonic=lambda: now, patience=3.0) as one:
        now += one.lease.ttl - 0.1
        own_redis.server.signal(signal.SIGSTOP)
        try:
            await one.lease.renew()
            assert one.registry.redis_is_away
            assert one.registry.is_leader, "Redis keeps it for us still"
            now += 0.1
            assert not one.registry.is_leader
            await one.lease.resign()
        finally:
            own_redis.server.signal(signal.SIGCONT)


async def test_holder_that_hung_is_no_longer_leader(redis: RedisServer) -> None:
    now = 100.0
    async with proxy_at(redis.url, "a", monotonic=lambda: now) as one, proxy_at(redis.url, "b") as two:
        now += one.lease.ttl
        assert not one.registry.is_leader
        redis.client.delete(f"{PREFIX}prober")  # as if its time in Redis had passed too
        await two.lease.renew()
        await one.lease.renew()
        assert (one.registry.is_leader, two.registry.is_leader) == (False, True)
