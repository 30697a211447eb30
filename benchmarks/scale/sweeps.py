"""Sweeps by real HTTP and a real Redis, what is in Redis, and real proxies."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from statistics import median
from typing import Any, Final, NamedTuple

import psutil
from redis import Redis

from benchmarks.harness.processes import (
    Server,
    cpu_seconds,
    free_port,
    http_get,
    proxy_server,
    ready_replicas,
    redis_server,
)
from benchmarks.harness.waiting import wait_until
from benchmarks.scale.fleet import SimulatedFleet
from benchmarks.scale.measurements import FleetMeasurements, IdleProxy, Sweep, by_kind
from proxy.balancing.local_stats import LocalStats
from proxy.fleet.discovery import Discovery
from proxy.fleet.leader_lease import LeaderLease
from proxy.fleet.prober import Prober
from proxy.fleet.registry import Registry
from proxy.fleet.store import FleetStore
from proxy.metrics import ProxyMetrics
from proxy.settings import ProxySettings
from proxy.upstream.client import ReplicaClient
from shared.runtime import gc_tuning

PREFIX: Final = "pairway:"
READY_SECONDS: Final = 120.0
# A second sweep finds every connection open.
WARM_UP_SWEEPS: Final = 2
# The loop looks this often whether it was kept from it.
TICK_SECONDS: Final = 0.002
PAGES: Final = 5
MEGABYTE: Final = 1 << 20


class ScaleServers(NamedTuple):
    """The Redis and the replicas, with their ports."""

    redis: Server
    replicas: Server
    redis_port: int
    replicas_port: int

    @property
    def redis_url(self) -> str:
        """Where the Redis is."""
        return f"redis://127.0.0.1:{self.redis_port}/0"


class Core(NamedTuple):
    """What a proxy sweeps with."""

    registry: Registry
    lease: LeaderLease
    tracker: Prober


@asynccontextmanager
async def running_servers(fleet: SimulatedFleet, folder: Path, python: str) -> AsyncGenerator[ScaleServers]:
    """Start a Redis and the replicas; leave neither behind."""
    redis_port = free_port()
    redis = redis_server(redis_port, folder)
    command = [python, "-m", "benchmarks.scale.replicas", str(fleet.replicas), str(fleet.pairs), fleet.shape]
    replicas = Server(command, folder / f"replicas-{fleet.shape}.log")
    try:
        redis.start()
        replicas.start()
        port = await wait_until(lambda: replicas.tail(1), READY_SECONDS, "the replicas' port")
        yield ScaleServers(redis, replicas, redis_port, int(port))
    finally:
        replicas.stop()
        redis.stop()


@asynccontextmanager
async def core(owner: str, fleet: SimulatedFleet, servers: ScaleServers) -> AsyncGenerator[Core]:
    """Put together what a proxy sweeps with, from the real parts and with the usual settings."""
    usual = ProxySettings()
    rng = Random(owner)  # noqa: S311 - jitter, no secrets
    store = FleetStore(servers.redis_url, PREFIX, usual.redis_timeout, time.time)
    stats = LocalStats(time.monotonic, rng)
    lease = LeaderLease(store, owner, usual.redis_timeout, time.monotonic)
    urls = fleet.urls(servers.replicas_port)
    registry = Registry(
        store, lease, urls, report_ttl=usual.report_ttl, clock=time.time, on_snapshot=stats.apply_snapshot
    )
    async with ReplicaClient.open(connect_timeout=usual.connect_timeout, probe_timeout=usual.probe_timeout) as client:
        tracker = Prober(registry, Discovery(), client, ProxyMetrics(), time.time)
        try:
            yield Core(registry, lease, tracker)
        finally:
            await tracker.close()
            await lease.resign()
            await store.close()


async def sweeps(measured: FleetMeasurements, fleet: SimulatedFleet, servers: ScaleServers, rounds: int) -> None:
    """Let one proxy lead and another follow, in turn, and measure each sweep; then read Redis's sizes."""
    leading, following = "sweep by the leader, HTTP and Redis included", "sweep by a follower, from Redis"
    async with core("leader", fleet, servers) as leader, core("follower", fleet, servers) as follower:
        gc_tuning.freeze_loaded_objects()
        for number in range(WARM_UP_SWEEPS + rounds):
            for name, each in ((leading, leader), (following, follower)):
                await each.lease.renew()
                swept = await _measured_sweep(each.tracker)
                if number >= WARM_UP_SWEEPS:
                    measured.sweeps.setdefault(name, []).append(swept)
                print(
                    f"  {name}: CPU {swept.cpu:.2f} s, {swept.wall:.2f} s, pause {1000 * swept.pause:.0f} ms",
                    flush=True,
                )
            ready = (
                len(leader.registry.snapshot.ready[fleet.common]),
                len(follower.registry.snapshot.ready[fleet.common]),
            )
            if number >= WARM_UP_SWEEPS and ready != (fleet.replicas, fleet.replicas):
                print(
                    f"  ready: {ready}; redis: {leader.registry.redis_error} {follower.registry.redis_error}",
                    flush=True,
                )
    measured.redis = await asyncio.to_thread(_redis_sizes, servers)


async def _measured_sweep(tracker: Prober) -> Sweep:
    pauses: list[float] = [0.0]

    async def watch() -> None:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(TICK_SECONDS)
            pauses.append(time.perf_counter() - began - TICK_SECONDS)

    watching = asyncio.create_task(watch())
    await asyncio.sleep(0)
    cpu, wall = time.process_time(), time.perf_counter()
    await tracker.probe_all()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    watching.cancel()
    return Sweep(cpu, wall, max(pauses))


def _redis_sizes(servers: ScaleServers) -> dict[str, float]:
    """Return how many keys there are, and their bytes."""
    client: Any = Redis(port=servers.redis_port, decode_responses=True)  # partly untyped in redis-py
    with client as redis:
        keys: list[str] = list(redis.scan_iter(count=1000))
        sizes = {key: int(redis.memory_usage(key, samples=0) or 0) for key in keys}
        return {**by_kind(sizes, PREFIX), "bytes used_memory": float(redis.info("memory")["used_memory"])}


async def proxies(
    measured: FleetMeasurements, fleet: SimulatedFleet, servers: ScaleServers, folder: Path, count: int, seconds: float
) -> None:
    """Run real proxies on the same fleet and Redis, let them be for some seconds, and look at each."""
    ports = [free_port() for _ in range(count)]
    urls = fleet.urls(servers.replicas_port)
    running = [proxy_server(folder, port, urls, servers.redis_port, f"proxy-{fleet.shape}-{port}") for port in ports]
    try:
        for server in running:
            server.start()
        for port in ports:
            await wait_until(lambda url=f"http://127.0.0.1:{port}": _serves_all(url, fleet), READY_SECONDS, "all ready")
        await asyncio.sleep(2)
        processes = [psutil.Process(server.pid) for server in running]
        counted = f"http://127.0.0.1:{servers.replicas_port}/counted"
        before, reports = (
            [cpu_seconds(each) for each in processes],
            json.loads(await asyncio.to_thread(http_get, counted)),
        )
        await asyncio.sleep(seconds)
        given = json.loads(await asyncio.to_thread(http_get, counted))["reports"] - reports["reports"]
        measured.reports_per_second = given / seconds
        spent = [(cpu_seconds(each) - then) / seconds for each, then in zip(processes, before, strict=True)]
        for port, process, cpu in zip(ports, processes, spent, strict=True):
            measured.proxies.append(await asyncio.to_thread(_measure_proxy, port, process, cpu))
    finally:
        for server in running:
            server.stop()


def _measure_proxy(port: int, process: psutil.Process, cpu: float) -> IdleProxy:
    took: list[float] = []
    page, before = b"", cpu_seconds(process)
    for _ in range(PAGES):
        began = time.perf_counter()
        page = http_get(f"http://127.0.0.1:{port}/health")
        took.append(1000 * (time.perf_counter() - began))
    busy = cpu_seconds(process) - before - cpu * sum(took) / 1000
    leads = bool(json.loads(page)["prober"])
    rss = process.memory_info().rss / MEGABYTE
    return IdleProxy(leads, cpu, rss, len(page), median(took), 1000 * max(0.0, busy) / PAGES)


async def _serves_all(url: str, fleet: SimulatedFleet) -> bool:
    return await asyncio.to_thread(ready_replicas, url, str(fleet.common)) == fleet.replicas
