"""Scale: what 200 replicas, 50 pairs and 4 proxies (or more) cost in sweeps, requests, Redis and ``/health``.

    make bench-scale                                  # about 3 minutes
    python -m benchmarks.scale --replicas 1000 --pairs 300 --proxies 4 --rounds 5 --out .run/scale

Real proxies with usual settings, a real Redis, real HTTP; the replicas are one process with an address for each. Exit status 1
when a target is missed. The report is OUT/report.md, the figures OUT/results.json.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple

from prometheus_client.parser import text_string_to_metric_families
from redis import Redis

from benchmarks.harness.http_load import TEXT, LoadPlan, LoadProcess
from benchmarks.harness.load import Stream, Timing
from benchmarks.harness.processes import (
    Server,
    free_port,
    http_get,
    proxy_server,
    ready_replicas,
    redis_server,
    running,
    usage_of,
)
from benchmarks.harness.replicas import TRANSLATION, FleetShape, SimulatedFleet
from benchmarks.harness.report import Checks, RunFolder, table, target_table
from benchmarks.harness.texts import TextSource
from shared.runtime.process_guard import ProcessGuard

GRACE_SECONDS: Final = 10.0
READY_SECONDS: Final = 120.0
# After the first sweep, until every connection is open.
WARM_UP_SECONDS: Final = 3.0
# A sweep over 200 replicas takes a quarter of a CPU second, HTTP included; over more in proportion.
MAX_SWEEP_CPU_SECONDS: Final = 0.25 / 200
MAX_LOAD: Final = 39
PAGES: Final = 5
PAUSE_SECONDS: Final = 3.0
LOAD: Final = Timing(seconds=3.0, warm_up=0.5)
CONCURRENCY: Final = 4
PARTS: Final = ("sweeps", "requests", "health")
MEGABYTE: Final = 1 << 20


@dataclass
class ProxyFigures:
    """A proxy: what a sweep cost it in each round, and its page ``/health``; sizes in bytes and MB, ``ms`` in milliseconds."""

    leads: bool
    sweep_cpu: float = 0.0
    sweep_seconds: float = 0.0
    pause_ms: float = 0.0
    cpu: float = 0.0
    rss_mb: float = 0.0
    health_bytes: int = 0
    health_ms: float = 0.0
    health_cpu_ms: float = 0.0


@dataclass
class FleetFigures:
    """One shape of fleet; ``requests``: CPU µs, p50 and p99 ms of one, by whom the pair is served."""

    shape: str
    proxies: list[ProxyFigures] = field(default_factory=list[ProxyFigures])
    requests: dict[str, tuple[float, float, float]] = field(default_factory=dict[str, tuple[float, float, float]])
    redis_bytes: float = 0.0
    reports_per_second: float = 0.0

    def judge(self, checks: Checks, replicas: int) -> None:
        """Add the targets."""
        for name, cpu in ((_role(each), each.sweep_cpu) for each in self.proxies if each.sweep_cpu):
            limit = MAX_SWEEP_CPU_SECONDS * replicas
            checks.at_most(f"{self.shape}: {name}, HTTP and Redis included, CPU of a sweep", cpu, limit, " s")

    def lines(self) -> list[str]:
        """Return the tables."""
        sweeps = (
            (_role(each), f"{each.sweep_cpu:.3f}", f"{each.sweep_seconds:.2f}", f"{each.pause_ms:.0f}", f"{each.cpu:.2f}",
             f"{each.rss_mb:.0f}", f"{each.health_bytes:,}", f"{each.health_ms:.0f}", f"{each.health_cpu_ms:.1f}")
            for each in self.proxies
        )  # fmt: skip
        headings = ("proxy", "CPU s a sweep", "seconds", "longest pause ms", "CPU s a second", "MB", "/health bytes", "/health ms", "CPU ms each")  # fmt: skip
        requests = ((name, f"{cpu:.0f}", f"{p50:.1f} / {p99:.1f}") for name, (cpu, p50, p99) in self.requests.items())
        return [
            f"## {self.shape}", "", f"Redis: {self.redis_bytes / MEGABYTE:.1f} MB; reports a second: {self.reports_per_second:.0f}",
            "", *table(headings, sweeps), "", *table(("requests", "CPU µs each", "p50 / p99 ms"), requests), "",
        ]  # fmt: skip


def _role(proxy: ProxyFigures) -> str:
    return "leads" if proxy.leads else "follows"


class RunningProxy(NamedTuple):
    """One proxy process."""

    url: str
    server: Server

    def sweeps(self) -> tuple[float, float]:
        """Return how many sweeps there were, and their seconds."""
        text = http_get(f"{self.url}/metrics").decode()
        samples = {one.name: one.value for family in text_string_to_metric_families(text) for one in family.samples}
        return samples["pairway_proxy_sweep_seconds_count"], samples["pairway_proxy_sweep_seconds_sum"]

    def cpu(self) -> float:
        """Return its CPU seconds so far."""
        return usage_of(self.server.pid).cpu

    def timed(self, path: str) -> tuple[bytes, float]:
        """Return a page, and the milliseconds until it was there."""
        began = time.perf_counter()
        page = http_get(f"{self.url}{path}")
        return page, 1000 * (time.perf_counter() - began)


async def measure(fleet: SimulatedFleet, out: Path, options: argparse.Namespace) -> FleetFigures:
    """Measure one shape of fleet."""
    redis_port, common = free_port(), str(fleet.all_pairs[0])
    proxies: list[RunningProxy] = []
    for _ in range(options.proxies):
        port = free_port()
        server = proxy_server(out, port, fleet.urls(), redis_port, f"proxy-{fleet.shape}-{port}")
        proxies.append(RunningProxy(f"http://127.0.0.1:{port}", server))

    async def all_known() -> bool:
        known = [await asyncio.to_thread(ready_replicas, proxy.url, common) for proxy in proxies]
        return all(count == fleet.replicas for count in known)

    figures, parts = FleetFigures(fleet.shape), options.parts.split(",")
    servers = [redis_server(redis_port, out), fleet.server(out), *(proxy.server for proxy in proxies)]
    async with running(servers, all_known, READY_SECONDS, "all replicas are known"):
        await asyncio.sleep(WARM_UP_SECONDS)
        figures.proxies = [
            ProxyFigures(json.loads(http_get(f"{proxy.url}/health"))["prober"], rss_mb=usage_of(proxy.server.pid).rss / MEGABYTE)
            for proxy in proxies
        ]  # fmt: skip
        if "sweeps" in parts:
            await measure_sweeps(figures, proxies, fleet, options)
            figures.redis_bytes = await asyncio.to_thread(redis_bytes, redis_port)
        if "requests" in parts:
            for pair in dict.fromkeys((fleet.all_pairs[0], fleet.all_pairs[-1])):
                number = sum(pair in fleet.pairs_of(each) for each in range(fleet.replicas))
                body = f'{{"text":{TEXT},"source_lang":"{pair.source}","target_lang":"{pair.target}"}}'
                figures.requests[f"pair served by {number}"] = await request_cost(proxies[0], body, out)
        if "health" in parts:
            for each, proxy in zip(figures.proxies, proxies, strict=True):
                await asyncio.to_thread(measure_health, each, proxy)
    return figures


async def measure_sweeps(
    figures: FleetFigures, proxies: Sequence[RunningProxy], fleet: SimulatedFleet, options: argparse.Namespace
) -> None:
    """Let the proxies be, in rounds; then ask each for a small page again and again: the slowest answer is a pause."""
    counted = f"http://127.0.0.1:{fleet.ports[0]}/counted"
    rounds: list[list[tuple[float, float, float]]] = []
    reports, began = json.loads(http_get(counted)).get("reports", 0), time.monotonic()
    for _ in range(options.rounds):
        before = [(*proxy.sweeps(), proxy.cpu()) for proxy in proxies]
        await asyncio.sleep(options.seconds)
        cpus = [proxy.cpu() for proxy in proxies]
        after = [(*proxy.sweeps(), cpu) for proxy, cpu in zip(proxies, cpus, strict=True)]
        rounds.append([
            ((now[2] - then[2]) / (now[0] - then[0]), (now[1] - then[1]) / (now[0] - then[0]), (now[2] - then[2]) / options.seconds)
            for then, now in zip(before, after, strict=True)
        ])  # fmt: skip
    figures.reports_per_second = (json.loads(http_get(counted))["reports"] - reports) / (time.monotonic() - began)
    for place, (each, proxy) in enumerate(zip(figures.proxies, proxies, strict=True)):
        columns = zip(*(found[place] for found in rounds), strict=True)
        each.sweep_cpu, each.sweep_seconds, each.cpu = (median(column) for column in columns)
        until = time.monotonic() + PAUSE_SECONDS
        while time.monotonic() < until:
            each.pause_ms = max(each.pause_ms, proxy.timed("/livez")[1])
        print(f"  {_role(each)}: {each.sweep_cpu:.3f} CPU s a sweep, {each.pause_ms:.0f} ms", flush=True)


async def request_cost(proxy: RunningProxy, body: str, out: Path) -> tuple[float, float, float]:
    """Send requests; return CPU µs of one, less what the proxy takes without them, and p50 and p99 in ms."""
    idle = proxy.cpu()
    await asyncio.sleep(LOAD.seconds)
    idle = (proxy.cpu() - idle) / LOAD.seconds
    texts = TextSource(template="Where is the station, please, {}?", expected=TRANSLATION)
    streams = [Stream("load", concurrency=CONCURRENCY)]
    plan = LoadPlan(
        f"{proxy.url}/translate", str(out / "load.json"), streams, texts, LOAD, body=body, pid=proxy.server.pid
    )
    load = await LoadProcess(plan, out, "load").run()
    cpu = (load.server.cpu - idle * load.seconds) / max(1, len(load.counted))
    return 1e6 * cpu, load.latency_ms(50), load.latency_ms(99)


def measure_health(figures: ProxyFigures, proxy: RunningProxy) -> None:
    """Get the page ``/health`` some times."""
    before = proxy.cpu()
    pages = [proxy.timed("/health") for _ in range(PAGES)]
    spent = proxy.cpu() - before - figures.cpu * sum(ms for _, ms in pages) / 1000
    figures.health_bytes, figures.health_ms = len(pages[0][0]), median(ms for _, ms in pages)
    figures.health_cpu_ms = 1000 * max(0.0, spent) / PAGES


def redis_bytes(port: int) -> float:
    """Return what the fleet takes in Redis."""
    client: Any = Redis(port=port)  # partly untyped in redis-py
    with client as redis:
        return float(redis.info("memory")["used_memory"])


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, write, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description="Many replicas and pairs.")
    parser.add_argument("--replicas", type=int, default=200, help="default: %(default)s")
    parser.add_argument("--pairs", type=int, default=50, help="default: %(default)s")
    parser.add_argument("--proxies", type=int, default=4, help="default: %(default)s")
    parser.add_argument("--rounds", type=int, default=5, help="of which the median counts (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=6.0, help="of a round (default: %(default)s)")
    parser.add_argument("--shapes", default=",".join(FleetShape), help="comma-separated (default: %(default)s)")
    parser.add_argument("--parts", default=",".join(PARTS), help="comma-separated (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=Path(".run/scale"), help="folder (default: %(default)s)")
    options = parser.parse_args(arguments)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if (options.proxies + 2) * options.replicas > hard:
        raise SystemExit(f"scale: the replicas need more open files than the {hard} that this machine allows")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    folder, fleets, checks = RunFolder(options.out), list[FleetFigures](), Checks()
    with ProcessGuard("PAIRWAY_SCALE", GRACE_SECONDS):
        for shape in options.shapes.split(","):
            fleet = SimulatedFleet((free_port(),), options.replicas, options.pairs, FleetShape(shape), MAX_LOAD)
            fleets.append(asyncio.run(measure(fleet, folder.path, options)))
            fleets[-1].judge(checks, options.replicas)
    machine = (
        f"{folder.machine}; {options.replicas} replicas, {options.pairs} pairs, {options.proxies} proxies; "
        f"medians of {options.rounds}."
    )
    lines = [line for fleet in fleets for line in fleet.lines()]
    report = "\n".join(["# Scale", "", machine, "", *lines, *target_table(checks), ""])
    results = {"machine": machine, "fleets": list(map(asdict, fleets)), "targets": list(map(vars, checks))}
    return folder.write(report, results, checks)


if __name__ == "__main__":
    sys.exit(main())
