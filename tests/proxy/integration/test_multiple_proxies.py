"""Several proxies on one Redis: one probes, the others read; and whatever happens to Redis, requests are served."""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from tests.conftest import PREFIX, RedisServer
from tests.proxy.proxies import RunningProxy, fleet_of, proxy
from tests.support.fake_replica import FakeReplica, replicas
from tests.support.waiting import wait_until


@asynccontextmanager
async def load(*proxies: RunningProxy) -> AsyncGenerator[Counter[int]]:
    """Translate without pause through every proxy while the block lasts; counts statuses."""
    statuses: Counter[int] = Counter()
    going = True

    async def client(running: RunningProxy) -> None:
        while going:
            status, _, _ = await running.translate("Hello")
            statuses[status] += 1

    clients = [asyncio.create_task(client(running)) for running in proxies for _ in range(2)]
    try:
        yield statuses
    finally:
        going = False
        await asyncio.gather(*clients)


async def whole(running: RunningProxy) -> bool:
    return (await running.health())["status"] == "ok"


def has_one_prober(*proxies: RunningProxy) -> bool:
    """Say whether one leads; for a moment none may: a pause of the machine can outlast the lease."""
    return sum(running.context.fleet.registry.is_leader for running in proxies) == 1


async def test_one_proxy_probes_and_both_know(redis: RedisServer) -> None:
    async with fleet_of("en>de", name="one", redis_url=redis.url) as (first, one), proxy([one], redis.url) as second:
        assert (await first.health())["prober"] is True
        await wait_until(lambda: second.context.fleet.registry.redis_error is None, 3)
        assert (await second.health())["prober"] is False
        before = one.probes
        await first.sweeps(10)
        assert 8 <= one.probes - before <= 13, "ten sweeps of one prober"
        assert (await second.translate("Hello"))[0] == 200
        one.state = "draining"
        await second.sees(one, "draining", within=2)


async def test_leaving_prober_hands_over_at_once(redis: RedisServer) -> None:
    async with fleet_of("en>de", name="one", redis_url=redis.url) as (first, one), proxy([one], redis.url) as second:
        await wait_until(lambda: second.context.fleet.registry.redis_error is None, 3)
        await first.serving.stop()

        async def probes() -> bool:
            return (await second.health())["prober"] is True

        await wait_until(probes, 0.6, "the lease was given back, not waited for")
        assert (await second.translate("Hello"))[0] == 200


async def test_dead_prober_is_replaced_when_its_lease_ends(redis: RedisServer) -> None:
    one = FakeReplica("en>de", name="one")
    redis.client.set(f"{PREFIX}prober", "a dead proxy", px=60_000)
    async with replicas(one), proxy([one], redis.url) as running:
        assert (await running.health())["prober"] is False
        assert (await running.translate("Hello"))[0] == 200, "what nobody has reported is probed here"
        redis.client.pexpire(f"{PREFIX}prober", 500)

        async def probes() -> bool:
            return (await running.health())["prober"] is True

        await wait_until(probes, 4, "took over")
        await wait_until(lambda: whole(running), 3, "nothing is missing")


async def test_hung_prober_does_not_blind_other_proxies(redis: RedisServer) -> None:
    one = FakeReplica("en>de", name="one")
    redis.client.set(f"{PREFIX}prober", "a hanging proxy", px=60_000)
    async with replicas(one), proxy([one], redis.url) as running:
        await one.stop()
        await running.sees(one, "down")
        await one.start()
        await running.sees(one, "ready")


async def test_later_proxy_knows_earlier_pairs(redis: RedisServer) -> None:
    one, two = FakeReplica("en>de", name="one"), FakeReplica("en>fr", name="two")
    async with replicas(one, two):
        async with proxy([one, two], redis.url):
            pass
        async with proxy([one], redis.url) as later:
            status, problem, _ = await later.translate("Hello", "en", "fr")
            assert (status, problem["code"]) == (503, "pair-unavailable")


async def test_record_of_other_version_is_probed_again(redis: RedisServer) -> None:
    one = FakeReplica("en>de", name="one")
    async with replicas(one):
        redis.client.set(f"{PREFIX}prober", "another version", px=60_000)
        redis.client.set(f"{PREFIX}replica:{one.url}", '{"url": "from the future"}', px=60_000)
        redis.client.zadd(f"{PREFIX}replicas", {one.url: 4e9})
        redis.client.pexpire(f"{PREFIX}replicas", 60_000)
        async with proxy([one], redis.url) as running:
            assert (await running.translate("Hello"))[0] == 200
            assert await whole(running)


async def test_frozen_redis_fails_no_request(own_redis: RedisServer) -> None:
    one, two = FakeReplica("en>de", name="one"), FakeReplica("en>de", name="two")
    async with replicas(one, two), proxy([one, two], own_redis.url) as a, proxy([one, two], own_redis.url) as b:
        await wait_until(lambda: whole(b), 3)
        async with load(a, b) as statuses:
            own_redis.server.signal(signal.SIGSTOP)
            for running in (a, b):
                await wait_until(
                    lambda running=running: running.context.fleet.registry.redis_error is not None, 3, "noticed"
                )
                health = await running.health()
                assert (health["status"], health["redis"]["up"]) == ("degraded", False)
            await one.stop()
            for running in (a, b):
                await running.sees(one, "down")
            await one.start()
            own_redis.server.signal(signal.SIGCONT)
            for running in (a, b):
                await wait_until(lambda running=running: whole(running), 3, "whole again")
        assert set(statuses) == {200}
        await wait_until(lambda: has_one_prober(a, b), 3, "one probes")
    own_redis.check_keys()


async def test_redis_restarted_empty_fails_no_request(own_redis: RedisServer) -> None:
    one, two = FakeReplica("en>de", name="one"), FakeReplica("en>fr", name="two")
    addresses = ["127.0.0.1", "127.0.0.2"]

    async def resolver(host: str) -> list[str]:
        assert host == "fleet"
        return addresses

    async with replicas(one):
        two.host, two.port = "127.0.0.2", one.port
        url = f"http://fleet:{one.port}"
        async with (
            replicas(two),
            proxy([url], own_redis.url, resolver=resolver) as a,
            proxy([url], own_redis.url, resolver=resolver) as b,
        ):
            await wait_until(lambda: whole(b), 3)
            addresses.remove("127.0.0.2")
            await a.sweeps(2)
            async with load(a, b) as statuses:
                own_redis.server.kill()
                for running in (a, b):
                    await wait_until(
                        lambda running=running: running.context.fleet.registry.redis_error is not None, 3, "noticed"
                    )
                await a.sweeps(3)
                own_redis.start()
                for running in (a, b):

                    async def up(running: RunningProxy = running) -> bool:
                        return bool((await running.health())["redis"]["up"])

                    await wait_until(up, 3, "found again")
                await wait_until(lambda: len(own_redis.keys()) >= 4, 3, "lease, index, record and pairs")
            assert set(statuses) == {200}
            await wait_until(lambda: has_one_prober(a, b), 3, "one probes")
            own_redis.check_keys()
            pairs = own_redis.client.zrange(f"{PREFIX}pairs", 0, -1)
            assert sorted(pairs) == ["en>de", "en>fr"], "pairs whose replicas are gone are remembered again as well"


async def test_refusing_redis_counts_as_away(own_redis: RedisServer) -> None:
    one = FakeReplica("en>de", name="one")
    own_redis.client.config_set("requirepass", "secret")
    async with replicas(one), proxy([one], own_redis.url) as running:
        assert (await running.translate("Hello"))[0] == 200
        health = await running.health()
        assert (health["status"], health["redis"]["up"]) == ("degraded", False)
        assert "secret" not in str(health)


async def test_full_redis_counts_as_away(own_redis: RedisServer) -> None:
    one = FakeReplica("en>de", name="one")
    own_redis.client.config_set("maxmemory", "1")
    async with replicas(one), proxy([one], own_redis.url) as running:
        assert (await running.translate("Hello"))[0] == 200
        assert (await running.health())["redis"]["up"] is False
