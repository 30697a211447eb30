"""The registry over a real Redis: what proxies share, and what each knows alone."""

from __future__ import annotations

import asyncio

from proxy.fleet.overrides import UNDONE_SECONDS, OverrideKind
from proxy.fleet.registry import MAX_REMEMBERED_PAIRS
from proxy.fleet.replica import ReplicaState
from proxy.fleet.store import REMEMBERED_SECONDS
from tests.conftest import PREFIX, RedisServer
from tests.proxy.fleet.registries import A, B, ProxyParts, proxy_at
from tests.proxy.proxies import nowhere
from tests.proxy.samples import pair, replica
from tests.support.waiting import wait_until


async def test_follower_reads_what_the_leader_published(redis: RedisServer) -> None:
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


async def test_restore_reads_known_pairs_and_overrides(redis: RedisServer) -> None:
    async with proxy_at(redis.url, "a") as before:
        before.adopt(replica(A, "en>de"))
        await before.registry.publish()
        before.drain(B)
        await before.registry.sync_changes()
    async with proxy_at(redis.url, "b") as after:
        await after.registry.restore()
        after.adopt(replica(B, "en>fr"))
        assert after.registry.snapshot.ready == {pair("en>de"): (), pair("en>fr"): ()}
        assert after.state(B) is ReplicaState.DRAINING


async def test_pairs_are_remembered_for_a_day() -> None:
    now = 1000.0
    async with proxy_at(nowhere(), clock=lambda: now) as one:
        one.adopt(replica(A, "en>de"))
        now += REMEMBERED_SECONDS - 1
        one.registry.set_addresses({A: ()})
        assert pair("en>de") in one.registry.snapshot.ready
        now += 2
        one.registry.update([])
        assert pair("en>de") not in one.registry.snapshot.ready


async def test_remembered_pairs_are_bounded() -> None:
    urls = [f"http://{n}" for n in range(21)]
    async with proxy_at(nowhere(), configured=urls) as one:
        one.adopt(*(replica(url, *(f"l{n}>x{k}" for k in range(1000))) for n, url in enumerate(urls)))
        one.registry.set_addresses(dict.fromkeys(urls, ()))
        assert len(one.registry.snapshot.ready) == MAX_REMEMBERED_PAIRS


async def test_drained_replica_is_published_as_it_reports(redis: RedisServer) -> None:
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


async def test_update_ignores_replicas_that_left() -> None:
    async with proxy_at(nowhere()) as one:
        one.adopt(replica(A, "en>de"), replica(B, "en>de"))
        one.registry.override(A, OverrideKind.REMOVED, added=False, weight=None, new_verdict=True)
        one.registry.update([replica(A, "en>de")])
        one.registry.set_addresses({A: (A,), B: (B,)})  # a sweep that had begun before
        assert list(one.registry.snapshot.replicas) == [B]


async def test_overrides_without_redis_merge_when_it_returns(own_redis: RedisServer) -> None:
    now = 1000.0
    async with proxy_at(own_redis.url, "a", lambda: now) as one, proxy_at(own_redis.url, "b", lambda: now) as two:
        for each in (one, two):
            each.adopt(replica(A, "en>de"), replica(B, "en>de"))
        one.drain(A)
        await one.registry.sync_changes()
        await two.registry.sync_changes()
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
                await each.registry.sync_changes()
            return all(
                (each.state(A), each.state(B)) == (ReplicaState.READY, ReplicaState.DRAINING) for each in (one, two)
            )

        await wait_until(of_one_mind, 3, "both know both changes, from an empty Redis")
        own_redis.check_keys()


async def test_override_undone_a_day_ago_is_dropped_everywhere(redis: RedisServer) -> None:
    now = 1_800_000_000.0
    async with proxy_at(redis.url, "a", lambda: now) as one, proxy_at(redis.url, "b", lambda: now) as two:
        one.drain(A)
        one.drain(B)
        for each in (one, two):
            await each.registry.sync_changes()
        assert await one.registry.share_override(
            one.registry.override(A, OverrideKind.SERVING, added=False, weight=None, new_verdict=True)
        )
        await two.registry.sync_changes()
        now += UNDONE_SECONDS + 1
        for _ in range(2):
            for each in (one, two):
                await each.registry.sync_changes()
        assert redis.client.hkeys(f"{PREFIX}changes") == [B]
        assert [[change.url for change in each.registry.overrides.all()] for each in (one, two)] == [[B], [B]]


async def test_redis_key_of_another_type_is_logged_and_harmless(redis: RedisServer) -> None:
    redis.client.set(f"{PREFIX}changes", "no hash", px=5000)
    async with proxy_at(redis.url) as one:
        one.adopt(replica(A, "en>de"))
        one.drain(A)
        await one.registry.sync_changes()
        await one.registry.publish()
        assert "WRONGTYPE" in (one.registry.redis_error or "")
        assert one.state(A) is ReplicaState.DRAINING
        redis.client.delete(f"{PREFIX}changes")
        await asyncio.gather(one.registry.sync_changes(), one.registry.publish())
        assert one.registry.redis_error is None


DE, FR = "http://de:1", "http://fr:1"
AT_DE, AT_FR = "http://10.0.0.1:1", "http://10.0.0.2:1"


def adopt_services(parts: ProxyParts) -> None:
    """Make a replica of each service the fleet."""
    parts.registry.set_addresses({DE: (AT_DE,), FR: (AT_FR,)})
    parts.registry.update([replica(AT_DE, "en>de"), replica(AT_FR, "en>fr")])


def expected(parts: ProxyParts) -> dict[str, tuple[int, int | None]]:
    return {each.service: (each.ready, each.expected) for each in parts.registry.services}


async def test_expected_replicas_are_shared_and_survive_redis(own_redis: RedisServer) -> None:
    async with (
        proxy_at(own_redis.url, "a", configured=(DE, FR)) as one,
        proxy_at(own_redis.url, "b", configured=(DE,)) as two,
    ):
        adopt_services(one)
        assert await one.registry.share_expected(one.registry.expect({"de": 2, "fr": 1}))
        await two.registry.restore()
        assert expected(two) == {"de": (0, 2)}, "another list of services"
        own_redis.server.kill()
        changed = one.registry.expect({"de": 3})
        assert not await one.registry.share_expected(changed)
        assert expected(one) == {"de": (1, 3), "fr": (1, 1)}
        own_redis.start()

        async def agree() -> bool:
            for each in (one, two):
                await each.lease.renew()
                await each.registry.sync_changes()
            return expected(two) == {"de": (0, 3)}

        await wait_until(agree, 5, "from an empty Redis")
        own_redis.check_keys()


async def test_retired_name_leaves_no_replica_and_no_pair() -> None:
    async with proxy_at(nowhere(), configured=(DE, FR)) as one:
        adopt_services(one)
        one.registry.expect({"fr": 0})
        one.registry.set_addresses({DE: (AT_DE,), FR: (AT_FR,)}, {FR})
        assert list(one.registry.snapshot.replicas) == [AT_DE, AT_FR], "it still serves"
        one.registry.update([replica(AT_FR, "en>fr").silent("gone", 1.0, max_misses=1)])
        one.registry.set_addresses({DE: (AT_DE,), FR: (AT_FR,)}, {FR})
        assert list(one.registry.snapshot.replicas) == [AT_DE]
        assert one.registry.snapshot.ready == {pair("en>de"): (AT_DE,)}
        one.registry.update([replica(AT_DE, "en>de").silent("gone", 1.0, max_misses=1)])
        assert pair("en>fr") in one.registry.snapshot.ready, "nobody knows whether its replicas are missing"
        one.registry.expect({"fr": None})
        one.registry.update([replica(AT_DE, "en>de")])
        one.registry.set_addresses({DE: (AT_DE,), FR: (FR,)}, {FR})
        assert one.state(FR) is ReplicaState.STARTING
        assert pair("en>fr") in one.registry.snapshot.ready


async def test_unresolved_name_of_unknown_number_stays() -> None:
    async with proxy_at(nowhere(), configured=(DE, FR)) as one:
        one.registry.set_addresses({DE: (DE,), FR: (FR,)}, {DE, FR})
        assert list(one.registry.snapshot.replicas) == [DE, FR]
