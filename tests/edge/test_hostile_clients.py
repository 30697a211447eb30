"""Slow readers and slow writers at the edge: nobody else fails, its memory is bounded, and its worker lives."""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path

import httpx
import pytest

from benchmarks.connections.clients import EDGE_KINDS, ClientGroup
from tests.edge.running_edge import Fleet, RunningEdge, running_edge
from tests.support.processes import Server
from tests.support.waiting import wait_until

pytestmark = pytest.mark.edge

# Seconds: longer than the edge waits for a client that stands still, so that it cuts some, which come again.
HOLD_SECONDS = 20.0
NORMAL_CLIENTS = [f"127.0.2.{number}" for number in range(1, 5)]
MEGABYTE = 1 << 20
# What docker compose gives the edge, and of that the folder.
MAX_BYTES = 256 * MEGABYTE
MAX_FOLDER_BYTES = 128 * MEGABYTE
BODY = {"text": "Where is the station?", "source_lang": "en", "target_lang": "de"}


async def normal_statuses(running: RunningEdge, address: str, until: asyncio.Event) -> Counter[str]:
    """Send one request after the other, every second one of 1 MB; return how often each status came."""
    statuses: Counter[str] = Counter()
    small = json.dumps(BODY).encode()
    bodies = (small, small + b" " * MEGABYTE)
    async with running.client(address) as client:
        while not until.is_set() or sum(statuses.values()) < len(bodies):
            try:
                body = bodies[sum(statuses.values()) % len(bodies)]
                status = str((await client.post("/translate", content=body)).status_code)
            except httpx.TransportError as error:
                status = type(error).__name__
            statuses[status] += 1
    return statuses


@pytest.mark.parametrize("addresses", [1, 50])
async def test_slow_clients_harm_nobody_else(fleet: Fleet, tmp_path: Path, addresses: int) -> None:
    async with running_edge(fleet, tmp_path) as running:
        worker, ended = running.edge.worker().pid, asyncio.Event()
        normal = [asyncio.create_task(normal_statuses(running, address, ended)) for address in NORMAL_CLIENTS]
        groups = [
            ClientGroup(kind, behaviour.count, running.edge.port, "127.0.1.1", HOLD_SECONDS, addresses)
            for kind, behaviour in EDGE_KINDS.items()
        ]
        hostile = [
            Server(
                [sys.executable, "-m", "benchmarks.connections.clients", json.dumps(asdict(group))],
                tmp_path / f"{group.kind}.log",
            )
            for group in groups
        ]
        most, most_in_folder = 0, 0
        try:
            for each in hostile:
                each.start()
            while not all(each.has_ended for each in hostile):
                in_folder = running.edge.folder_bytes()
                most_in_folder = max(most_in_folder, in_folder)
                most = max(most, in_folder + running.edge.memory_bytes())
                await asyncio.sleep(0.2)
        finally:
            for each in hostile:
                each.stop()
            ended.set()
        statuses = {status for counted in await asyncio.gather(*normal) for status in counted}

        assert statuses == {"200"}
        assert running.edge.worker().pid == worker
        assert most_in_folder <= MAX_FOLDER_BYTES
        assert most <= MAX_BYTES
        refused = Counter(line["refused"] for line in running.log if line["status"] == "429")
        assert refused["bodies"] > 0
        # How many of 500 of one client are in flight at once is for the machine: `test_limits.py` asserts their limit.
        assert addresses == 1 or not refused["client-connections"], "fifty clients have 20 each"
        assert "127.0.1." not in json.dumps(running.log)
        await wait_until(lambda: not running.edge.folder_bytes(), 30, "all bodies are gone")
