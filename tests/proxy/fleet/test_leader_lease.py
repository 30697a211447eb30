"""The prober lease over a real Redis."""

from __future__ import annotations

import signal

from tests.conftest import PREFIX, RedisServer
from tests.proxy.fleet.registries import A, proxy_at
from tests.proxy.proxies import nowhere
from tests.proxy.samples import replica
from tests.support.waiting import wait_until


async def test_no_proxy_holds_the_lease_without_redis() -> None:
    async with proxy_at(nowhere()) as one:
        assert one.registry.redis_is_away
        assert not one.registry.is_leader
        assert one.registry.redis_error is not None
        one.adopt(replica(A, "en>de"))
        await one.registry.publish()
        await one.lease.resign()
        await one.registry.sync_overrides()
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


async def test_dead_holder_is_replaced_within_3_s(redis: RedisServer) -> None:
    async with proxy_at(redis.url, "dead"), proxy_at(redis.url, "next") as other:

        async def leads() -> bool:
            await other.lease.renew()
            return other.registry.is_leader

        await wait_until(leads, 2.0, "its life is over")
