"""A replica that one proxy reaches and the other does not, and one that comes back: each proxy sees for itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import psutil
import pytest
from typing_extensions import override

from tests.conftest import RedisServer
from tests.proxy.proxies import RunningProxy, proxy
from tests.proxy.proxy_process import proxy_process
from tests.support.fake_replica import FakeReplica, replicas
from tests.support.processes import Server
from tests.support.waiting import wait_until

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
