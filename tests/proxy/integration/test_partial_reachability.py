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

from tests.conftest import RedisAtHand
from tests.fakes import FakeReplica, replicas
from tests.processes import Server
from tests.proxy.proxies import RunningProxy, proxy
from tests.proxy.test_proxy_process import proxy_process
from tests.waiting import wait_until

HELLO = {"text": "Hello", "source_lang": "en", "target_lang": "de"}


class ShyReplica(FakeReplica):
    """Resets every connection that comes from one process: for that one, the network is broken."""

    shuns: Server | None = None

    @override
    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        port = int(writer.get_extra_info("peername")[1])
        if self.shuns is not None and port in _ports(self.shuns.pid):
            writer.transport.abort()
            return
        await super()._accept(reader, writer)


def _ports(pid: int) -> set[int]:
    return {connection.laddr.port for connection in psutil.Process(pid).net_connections("tcp4")}


@asynccontextmanager
async def blind_proxy(
    folder: Path, redis: RedisAtHand, shy: ShyReplica, *others: FakeReplica
) -> AsyncGenerator[httpx.AsyncClient]:
    """Run a process that can not reach the shy replica."""
    async with proxy_process(folder, redis, shy, *others, drain_seconds="0") as (server, client):
        await shy.stop()  # and with it the connection that the process has already
        shy.shuns = server
        await shy.start()
        try:
            yield client
        finally:
            shy.shuns = None


async def state(client: httpx.AsyncClient, fake: FakeReplica) -> str:
    return {each["url"]: each["state"] for each in (await client.get("/fleet")).json()["replicas"]}[fake.url]


async def test_what_only_the_prober_can_not_reach_is_served_by_the_other(tmp_path: Path, redis: RedisAtHand) -> None:
    shy = ShyReplica("en>de", name="shy")
    async with replicas(shy), blind_proxy(tmp_path, redis, shy) as blind:

        async def down() -> bool:
            return await state(blind, shy) == "down"

        await wait_until(down, 5, "the prober finds it down")
        assert (await blind.get("/health")).json()["prober"] is True
        async with proxy([shy], redis.url) as seeing:
            for _ in range(5):
                assert (await seeing.translate("Hello"))[0] == 200
                await seeing.sweeps(1)
            assert (await seeing.health())["prober"] is False
            assert await state(blind, shy) == "down"
            refused = await blind.post("/translate", json=HELLO)
            assert (refused.status_code, refused.json()["code"]) == (503, "pair-unavailable")


async def test_what_only_the_other_can_not_reach_is_passed_by_there_and_served_by_the_prober(
    tmp_path: Path, redis: RedisAtHand
) -> None:
    shy, other = ShyReplica("en>de", name="shy"), FakeReplica("en>de", name="other")
    async with replicas(shy, other), proxy([shy, other], redis.url) as seeing:
        assert (await seeing.health())["prober"] is True
        async with blind_proxy(tmp_path, redis, shy, other) as blind:
            for _ in range(20):
                assert (await blind.post("/translate", json=HELLO)).status_code == 200
            await seeing.sees(shy, "ready")  # a sweep may have met it between its end and its start
            answers = [(await seeing.translate("Hello"))[1]["model"] for _ in range(20)]
            assert set(answers) == {"model-shy", "model-other"}


@pytest.mark.parametrize("pairs_only", [False, True])
async def test_what_comes_back_is_served_soon_by_every_proxy_however_rare_their_sweeps(
    redis: RedisAtHand, pairs_only: bool
) -> None:
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


async def test_a_silent_replica_delays_nothing_that_is_learnt_of_the_others(redis: RedisAtHand) -> None:
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
