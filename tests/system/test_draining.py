"""DrainingServer as a real process: what a signal does to readiness, to new requests and to those in flight."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from tests.support.processes import Server, free_port
from tests.support.waiting import wait_until

PROGRAM = """
import asyncio, sys
from fastapi import FastAPI, Response
from shared.server import draining_server
from shared.server.limits import ConnectionLimiter
app, draining, begun = FastAPI(), asyncio.Event(), asyncio.Event()
@app.get("/readyz")
async def readyz(): return Response(status_code=503 if draining.is_set() else 200)
@app.get("/begun")
async def has_begun(): return Response(status_code=200 if begun.is_set() else 503)
@app.get("/slow")
async def slow(seconds: float):
    begun.set()
    await asyncio.sleep(seconds)
    return "done"
config = draining_server.server_config(app, host="127.0.0.1", port=int(sys.argv[1]), grace_seconds=5, limiter=ConnectionLimiter())
draining_server.DrainingServer(config, drain=draining.set, drain_seconds=float(sys.argv[2])).run()
"""

# Longer than a pause, or readiness would fail and the socket close unseen.
DRAIN_SECONDS = 4.0
# Less than a drain takes; and more than a pause of the server alone, which no clock here sees.
SEEN_WITHIN = 3.5


class Drained:
    def __init__(self, server: Server, client: httpx.AsyncClient) -> None:
        self.server = server
        self.client = client

    async def is_ready(self) -> bool:
        try:
            return (await self.client.get("/readyz")).status_code == 200
        except httpx.TransportError:
            return False

    async def drains(self) -> bool:
        return (await self.client.get("/readyz")).status_code == 503

    async def in_hand(self, seconds: float) -> asyncio.Task[httpx.Response]:
        """Send a request that takes so long; return once it is there."""
        sent = asyncio.create_task(self.client.get("/slow", params={"seconds": seconds}))

        async def begun() -> bool:
            return (await self.client.get("/begun")).is_success

        await wait_until(begun, 10, "the request is there")
        return sent

    async def refuses(self) -> bool:
        try:
            await self.client.get("/readyz", headers={"Connection": "close"})
        except httpx.TransportError:
            return True
        return False

    def is_gone(self) -> bool:
        assert self.server.process is not None
        return self.server.process.poll() is not None


@asynccontextmanager
async def draining(folder: Path, seconds: float) -> AsyncGenerator[Drained]:
    port = free_port()
    server = Server([sys.executable, "-c", PROGRAM, str(port), str(seconds)], folder / "drain.log")
    server.start()
    try:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=10, trust_env=False) as client:
            drained = Drained(server, client)
            await wait_until(drained.is_ready, 20, "the server is up")
            yield drained
    finally:
        server.stop()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_signal_fails_readiness_and_stops_after_the_drain(tmp_path: Path, number: signal.Signals) -> None:
    async with draining(tmp_path, DRAIN_SECONDS) as drained:
        slow = await drained.in_hand(DRAIN_SECONDS + 0.5)
        started = asyncio.get_running_loop().time()
        drained.server.signal(number)
        await wait_until(drained.drains, SEEN_WITHIN, "readiness fails")
        assert (await drained.client.get("/slow", params={"seconds": 0})).status_code == 200
        await wait_until(drained.refuses, DRAIN_SECONDS + SEEN_WITHIN, "the socket closes")
        assert asyncio.get_running_loop().time() - started >= DRAIN_SECONDS - 0.1
        assert (await slow).json() == "done", "what is in flight is finished"
        await wait_until(drained.is_gone, SEEN_WITHIN, "the process ends")
        assert "Traceback" not in drained.server.tail() or "KeyboardInterrupt" in drained.server.tail()


async def test_second_signal_skips_the_wait_and_drops_nothing(tmp_path: Path) -> None:
    async with draining(tmp_path, 10.0) as drained:
        slow = await drained.in_hand(3.0)
        drained.server.signal(signal.SIGINT)
        await wait_until(drained.drains, SEEN_WITHIN, "it came: two signals at once may arrive as one")
        drained.server.signal(signal.SIGINT)
        await wait_until(drained.refuses, SEEN_WITHIN, "the socket closes before the drain is over")
        assert (await slow).json() == "done", "the end of the drain is no third signal"


async def test_signal_stops_at_once_without_drain_seconds(tmp_path: Path) -> None:
    async with draining(tmp_path, 0) as drained:
        drained.server.signal(signal.SIGTERM)
        await wait_until(drained.is_gone, SEEN_WITHIN, "the process ends")
