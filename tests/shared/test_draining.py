"""DrainingServer as a real process: what a signal does to readiness, to new requests and to those in hand."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from tests.processes import Server, free_port
from tests.waiting import wait_until

PROGRAM = """
import asyncio, sys
from fastapi import FastAPI, Response
from shared import server
from shared.bounds import Room
app, draining = FastAPI(), asyncio.Event()
@app.get("/readyz")
async def readyz(): return Response(status_code=503 if draining.is_set() else 200)
@app.get("/slow")
async def slow(seconds: float):
    await asyncio.sleep(seconds)
    return "done"
config = server.server_config(app, host="127.0.0.1", port=int(sys.argv[1]), grace_seconds=5, room=Room())
server.DrainingServer(config, drain=draining.set, drain_seconds=float(sys.argv[2])).run()
"""


class Drained:
    def __init__(self, server: Server, client: httpx.AsyncClient) -> None:
        self.server = server
        self.client = client

    async def is_ready(self) -> bool:
        try:
            return (await self.client.get("/readyz")).status_code == 200
        except httpx.TransportError:
            return False

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
async def test_a_signal_fails_readiness_at_once_serves_on_and_stops_after_the_drain(
    tmp_path: Path, number: signal.Signals
) -> None:
    async with draining(tmp_path, 1.0) as drained:
        slow = asyncio.create_task(drained.client.get("/slow", params={"seconds": 1.5}))
        await asyncio.sleep(0.1)  # the request has to be there before the signal
        started = asyncio.get_running_loop().time()
        drained.server.signal(number)

        async def not_ready() -> bool:
            return (await drained.client.get("/readyz")).status_code == 503

        await wait_until(not_ready, 0.5, "readiness fails")
        assert (await drained.client.get("/slow", params={"seconds": 0})).status_code == 200
        await wait_until(drained.refuses, 3, "the socket closes")
        assert asyncio.get_running_loop().time() - started >= 0.9
        assert (await slow).json() == "done", "what is in hand is finished"
        await wait_until(drained.is_gone, 3, "the process ends")
        assert "Traceback" not in drained.server.tail() or "KeyboardInterrupt" in drained.server.tail()


async def test_a_second_signal_skips_the_wait_but_drops_nothing_in_hand(tmp_path: Path) -> None:
    async with draining(tmp_path, 1.0) as drained:
        slow = asyncio.create_task(drained.client.get("/slow", params={"seconds": 2.0}))
        await asyncio.sleep(0.1)  # the request has to be there before the signal
        drained.server.signal(signal.SIGINT)
        await asyncio.sleep(0.1)  # two signals at once may arrive as one
        drained.server.signal(signal.SIGINT)
        await wait_until(drained.refuses, 0.7, "the socket closes before the drain is over")
        assert (await slow).json() == "done", "the end of the drain is no third signal"


async def test_with_nothing_to_wait_for_a_signal_stops_at_once(tmp_path: Path) -> None:
    async with draining(tmp_path, 0) as drained:
        drained.server.signal(signal.SIGTERM)
        await wait_until(drained.is_gone, 2, "the process ends")
