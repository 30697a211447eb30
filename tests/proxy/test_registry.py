"""The registry and the lease over the store, with a real Redis: what proxies share, and what each knows alone."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import Random

from proxy.balancing.local_stats import LocalStats
from proxy.fleet.leader_lease import LeaderLease
from proxy.fleet.overrides import UNDONE_SECONDS, OverrideKind
from proxy.fleet.registry import MAX_REMEMBERED_PAIRS, Registry
from proxy.fleet.replica import Replica, ReplicaState
from proxy.fleet.store import REMEMBERED_SECONDS, FleetStore
from tests.conftest import PREFIX, RedisAtHand
from tests.proxy.proxies import nowhere
from tests.proxy.samples import pair, replica
from tests.waiting import wait_until

TIMEOUT = 0.25
A, B = "http://a:1", "http://b:1"


@dataclass(slots=True)
class One:
    """What of one proxy knows Redis."""

    store: FleetStore
    lease: LeaderLease
    registry: Registry

    def adopt(self, *replicas: Replica) -> None:
        """Make these the fleet."""
        self.registry.set_addresses({each.url: (each.url,) for each in replicas})
        self.registry.update(replicas)

    def drain(self, url: str) -> None:
        self.registry.override(url, OverrideKind.DRAINED, added=False, weight=None, new_verdict=True)

    def state(self, url: str) -> ReplicaState:
        return self.registry.snapshot.replicas[url].state


@asynccontextmanager
async def proxy_at(
    url: str,
    owner: str = "me",
    clock: Callable[[], float] = time.time,
    monotonic: Callable[[], float] = time.monotonic,
    configured: Sequence[str] = (A, B),
) -> AsyncGenerator[One]:
    store = FleetStore(url, PREFIX, TIMEOUT, clock)
    try:
        lease = LeaderLease(store, owner, TIMEOUT, monotonic)
        await lease.renew()
        evidence = LocalStats(time.monotonic, Random(1))  # noqa: S311 - picks, not secrets
        yield One(
            store,
            lease,
            Registry(store, lease, configured, report_ttl=5, clock=clock, on_snapshot=evidence.apply_snapshot),
        )
    finally:
        await store.close()


async def test_without_redis_every_proxy_is_alone_and_holds_no_lease() -> None:
    async with proxy_at(nowhere()) as one:
        assert one.registry.redis_is_away
        assert not one.registry.is_leader
        assert one.registry.redis_error is not None
        one.adopt(replica(A, "en>de"))
        await one.registry.publish()
        await one.lease.resign()
        await one.registry.sync_overrides()
        assert await one.registry.read_shared() == {}


async def test_one_proxy_leads_and_the_other_reads_what_it_published(redis: RedisAtHand) -> None:
    async with proxy_at(redis.url, "a") as leader, proxy_at(redis.url, "b") as follower:
        assert leader.registry.is_leader
        assert not follower.registry.is_leader
        leader.adopt(replica(A, "en>de"))
        follower.adopt(replica(B, "en>de"))
        await leader.registry.publish()
        await follower.registry.publish()
        assert await follower.registry.read_shared() == leader.registry.snapshot.replicas, (
            "who does not lead writes nothing"
        )
        await leader.lease.resign()
        assert not leader.registry.is_leader
        await follower.lease.renew()
        assert follower.registry.is_leader


async def test_a_holder_whose_redis_hangs_stops_leading_before_another_can_begin(own_redis: RedisAtHand) -> None:
    now = 100.0
    async with proxy_at(own_redis.url, "a", monotonic=lambda: now) as one:
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


async def test_a_holder_that_hung_itself_knows_at_once_that_its_time_is_over(redis: RedisAtHand) -> None:
    now = 100.0
    async with proxy_at(redis.url, "a", monotonic=lambda: now) as one, proxy_at(redis.url, "b") as two:
        now += one.lease.ttl
        assert not one.registry.is_leader
        redis.client.delete(f"{PREFIX}prober")  # as if its time in Redis had passed too
        await two.lease.renew()
        await one.lease.renew()
        assert (one.registry.is_leader, two.registry.is_leader) == (False, True)


async def test_a_dead_holder_is_followed_within_3_s(redis: RedisAtHand) -> None:
    async with proxy_at(redis.url, "dead"), proxy_at(redis.url, "next") as other:

        async def leads() -> bool:
            await other.lease.renew()
            return other.registry.is_leader

        await wait_until(leads, 2.0, "its life is over")


async def test_a_proxy_that_starts_recalls_pairs_of_replicas_that_are_gone_and_what_operators_changed(
    redis: RedisAtHand,
) -> None:
    async with proxy_at(redis.url, "a") as before:
        before.adopt(replica(A, "en>de"))
        await before.registry.publish()
        before.drain(B)
        await before.registry.sync_overrides()
    async with proxy_at(redis.url, "b") as after:
        await after.registry.restore()
        after.adopt(replica(B, "en>fr"))
        assert after.registry.snapshot.ready == {pair("en>de"): (), pair("en>fr"): ()}
        assert after.state(B) is ReplicaState.DRAINING


async def test_pairs_are_remembered_for_a_day_in_memory_too() -> None:
    now = 1000.0
    async with proxy_at(nowhere(), clock=lambda: now) as one:
        one.adopt(replica(A, "en>de"))
        now += REMEMBERED_SECONDS - 1
        one.registry.set_addresses({A: ()})
        assert pair("en>de") in one.registry.snapshot.ready
        now += 2
        one.registry.update([])
        assert pair("en>de") not in one.registry.snapshot.ready


async def test_a_broken_replica_can_not_fill_the_memory() -> None:
    urls = [f"http://{n}" for n in range(21)]
    async with proxy_at(nowhere(), configured=urls) as one:
        one.adopt(*(replica(url, *(f"l{n}>x{k}" for k in range(1000))) for n, url in enumerate(urls)))
        one.registry.set_addresses(dict.fromkeys(urls, ()))
        assert len(one.registry.snapshot.ready) == MAX_REMEMBERED_PAIRS


async def test_a_drained_replica_serves_nothing_and_is_published_as_it_reports_itself(redis: RedisAtHand) -> None:
    async with proxy_at(redis.url) as one:
        one.adopt(replica(A, "en>de"), replica(B, "en>de"))
        one.drain(A)
        assert one.registry.snapshot.ready[pair("en>de")] == (B,)
        assert one.registry.snapshot.total[pair("en>de")] == 2
        assert (one.state(A), one.registry.snapshot.replicas[A].why) == (
            ReplicaState.DRAINING,
            "drained by an operator",
        )
        await one.registry.publish()
        assert (await one.registry.read_shared())[A].state is ReplicaState.READY
        one.registry.update([replica(A, "en>de")])
        assert one.state(A) is ReplicaState.DRAINING, "a new report undrains nobody"
        one.registry.update([replica(A).silent("gone", 1.0, max_misses=1)])
        assert one.state(A) is ReplicaState.DOWN


async def test_what_is_learnt_of_a_replica_that_left_is_passed_over() -> None:
    async with proxy_at(nowhere()) as one:
        one.adopt(replica(A, "en>de"), replica(B, "en>de"))
        one.registry.override(A, OverrideKind.REMOVED, added=False, weight=None, new_verdict=True)
        one.registry.update([replica(A, "en>de")])
        one.registry.set_addresses({A: (A,), B: (B,)})  # a sweep that had begun before
        assert list(one.registry.snapshot.replicas) == [B]


async def test_changes_made_while_redis_was_away_meet_when_it_is_back_and_the_latest_wins(
    own_redis: RedisAtHand,
) -> None:
    now = 1000.0
    async with proxy_at(own_redis.url, "a", lambda: now) as one, proxy_at(own_redis.url, "b", lambda: now) as two:
        for each in (one, two):
            each.adopt(replica(A, "en>de"), replica(B, "en>de"))
        one.drain(A)
        await one.registry.sync_overrides()
        await two.registry.sync_overrides()
        assert two.state(A) is ReplicaState.DRAINING
        own_redis.server.kill()
        now += 1
        change = one.registry.override(A, OverrideKind.SERVING, added=False, weight=None, new_verdict=True)
        assert not await one.registry.share_override(change)
        assert one.registry.redis_error is not None
        now += 1
        two.drain(B)
        own_redis.start()

        async def of_one_mind() -> bool:
            for each in (one, two):
                await each.lease.renew()
                await each.registry.sync_overrides()
            return all(
                (each.state(A), each.state(B)) == (ReplicaState.READY, ReplicaState.DRAINING) for each in (one, two)
            )

        await wait_until(of_one_mind, 3, "both know both changes, from an empty Redis")
        own_redis.check_keys()


async def test_what_was_undone_a_day_ago_is_forgotten_everywhere(redis: RedisAtHand) -> None:
    now = 1_800_000_000.0
    async with proxy_at(redis.url, "a", lambda: now) as one, proxy_at(redis.url, "b", lambda: now) as two:
        one.drain(A)
        one.drain(B)
        for each in (one, two):
            await each.registry.sync_overrides()
        assert await one.registry.share_override(
            one.registry.override(A, OverrideKind.SERVING, added=False, weight=None, new_verdict=True)
        )
        await two.registry.sync_overrides()
        now += UNDONE_SECONDS + 1
        for _ in range(2):
            for each in (one, two):
                await each.registry.sync_overrides()
        assert redis.client.hkeys(f"{PREFIX}changes") == [B]
        assert [[change.url for change in each.registry.overrides.all()] for each in (one, two)] == [[B], [B]]


async def test_a_key_of_another_type_is_told_and_stops_nothing(redis: RedisAtHand) -> None:
    redis.client.set(f"{PREFIX}changes", "no hash", px=5000)
    async with proxy_at(redis.url) as one:
        one.adopt(replica(A, "en>de"))
        one.drain(A)
        await one.registry.sync_overrides()
        await one.registry.publish()
        assert "WRONGTYPE" in (one.registry.redis_error or "")
        assert one.state(A) is ReplicaState.DRAINING
        redis.client.delete(f"{PREFIX}changes")
        await asyncio.gather(one.registry.sync_overrides(), one.registry.publish())
        assert one.registry.redis_error is None
