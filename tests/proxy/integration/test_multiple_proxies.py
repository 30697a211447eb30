"""Several proxies on one Redis: one probes, the others read; whatever happens to Redis or to a path, requests are served."""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import psutil
import pytest
from typing_extensions import override

from tests.conftest import PREFIX, RedisServer
from tests.proxy.proxies import RunningProxy, fleet_of, proxy
from tests.proxy.proxy_process import proxy_process
from tests.support.fake_replica import FakeReplica, replicas
from tests.support.processes import Server
from tests.support.waiting import wait_until

# A lease lasts for twice this and more: no pause of the machine outlasts it.
LONG_LEASE = 5.0


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
    async with (
        fleet_of("en>de", name="one", redis_url=redis.url, redis_timeout=LONG_LEASE) as (first, one),
        proxy([one], redis.url, redis_timeout=LONG_LEASE) as second,
    ):
        assert (await first.health())["prober"] is True
        await wait_until(lambda: second.context.fleet.registry.redis_error is None, 3)
        assert (await second.health())["prober"] is False
        before = one.probes
        await first.sweeps(10)
        assert 8 <= one.probes - before <= 13, "ten sweeps of one prober"
        assert (await second.translate("Hello"))[0] == 200
        one.state = "draining"
        await second.sees(one, "draining", within=5)


async def test_leaving_prober_hands_over_at_once(redis: RedisServer) -> None:
    async with (
        fleet_of("en>de", name="one", redis_url=redis.url, redis_timeout=LONG_LEASE) as (first, one),
        proxy([one], redis.url, redis_timeout=LONG_LEASE) as second,
    ):
        await wait_until(lambda: second.context.fleet.registry.redis_error is None, 3)
        await first.serving.stop()

        async def probes() -> bool:
            return (await second.health())["prober"] is True

        await wait_until(probes, 5, "the lease was given back, not waited for")
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


HELLO = {"text": "Hello", "source_lang": "en", "target_lang": "de"}


class SelectiveReplica(FakeReplica):
    """Resets every connection that comes from one process: for that one, the network is broken."""

    refused_process: Server | None = None

    @override
    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        port = int(writer.get_extra_info("peername")[1])
        if self.refused_process is not None and port in _ports(self.refused_process.pid):
            writer.transport.abort()
            return
        await super()._accept(reader, writer)


def _ports(pid: int) -> set[int]:
    return {connection.laddr.port for connection in psutil.Process(pid).net_connections("tcp4")}


@asynccontextmanager
async def blind_proxy(
    folder: Path, redis: RedisServer, replica: SelectiveReplica, *others: FakeReplica
) -> AsyncGenerator[httpx.AsyncClient]:
    """Run a process that cannot reach that replica."""
    async with proxy_process(folder, redis, replica, *others, drain_seconds="0") as (server, client):
        await replica.stop()  # and with it the connection that the process has already
        replica.refused_process = server
        await replica.start()
        try:
            yield client
        finally:
            replica.refused_process = None


async def state(client: httpx.AsyncClient, fake: FakeReplica) -> str:
    return {each["url"]: each["state"] for each in (await client.get("/fleet")).json()["replicas"]}[fake.url]


async def test_replica_unreachable_by_prober_is_served_by_other(tmp_path: Path, redis: RedisServer) -> None:
    replica = SelectiveReplica("en>de", name="replica")
    async with replicas(replica), blind_proxy(tmp_path, redis, replica) as blind:

        async def down() -> bool:
            return await state(blind, replica) == "down"

        await wait_until(down, 5, "the prober finds it down")
        assert (await blind.get("/health")).json()["prober"] is True
        async with proxy([replica], redis.url) as seeing:
            for _ in range(5):
                assert (await seeing.translate("Hello"))[0] == 200
                await seeing.sweeps(1)
            assert (await seeing.health())["prober"] is False
            assert await state(blind, replica) == "down"
            refused = await blind.post("/translate", json=HELLO)
            assert (refused.status_code, refused.json()["code"]) == (503, "pair-unavailable")


async def test_replica_unreachable_by_other_is_served_by_prober(tmp_path: Path, redis: RedisServer) -> None:
    replica, other = SelectiveReplica("en>de", name="replica"), FakeReplica("en>de", name="other")
    async with replicas(replica, other), proxy([replica, other], redis.url) as seeing:
        assert (await seeing.health())["prober"] is True
        async with blind_proxy(tmp_path, redis, replica, other) as blind:
            for _ in range(20):
                assert (await blind.post("/translate", json=HELLO)).status_code == 200
            await seeing.sees(replica, "ready")  # a sweep may have met it between its end and its start
            answers = [(await seeing.translate("Hello"))[1]["model"] for _ in range(20)]
            assert set(answers) == {"model-replica", "model-other"}


@pytest.mark.parametrize("pairs_only", [False, True])
async def test_returning_replica_is_served_soon_by_every_proxy(redis: RedisServer, pairs_only: bool) -> None:
    one = FakeReplica("en>de", name="one")
    async with replicas(one):
        one.pairs["en>de"] = not pairs_only
        if not pairs_only:
            await one.stop()
        async with (
            proxy([one], redis.url, probe_interval=30.0) as a,
            proxy([one], redis.url, probe_interval=30.0) as b,
        ):
            assert {(await each.translate("Hello"))[0] for each in (a, b)} == {503}
            one.pairs["en>de"] = True
            if not pairs_only:
                await one.start()
            for each in (a, b):

                async def served(each: RunningProxy = each) -> bool:
                    return (await each.translate("Hello"))[0] == 200

                await wait_until(served, 3, "served again")


async def test_silent_replica_delays_no_news_of_others(redis: RedisServer) -> None:
    silent, one = FakeReplica("en>de", name="silent"), FakeReplica("en>de", name="one")
    async with (
        replicas(silent, one),
        proxy([silent, one], redis.url, probe_timeout=30.0) as a,
        proxy([silent, one], redis.url, probe_timeout=30.0) as b,
    ):
        silent.report.fault = "hang"
        for state_now in ("draining", "ready", "draining"):
            one.state = state_now
            for each in (a, b):
                await each.sees(one, state_now, within=3)
