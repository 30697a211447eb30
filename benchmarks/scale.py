"""Scale: what 200 replicas, 50 pairs and 4 proxies (or more) cost in sweeps, requests, Redis and ``/health``.

    make bench-scale                                  # about 3 minutes
    python -m benchmarks.scale --replicas 1000 --pairs 300 --proxies 4 --rounds 5 --out .run/scale

Real proxies with usual settings, a real Redis, real HTTP; the replicas are one process with a port for each. Exit status 1
when a target is missed. The report is OUT/report.md, the figures OUT/results.json.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Final

from prometheus_client.parser import text_string_to_metric_families
from redis import Redis

from benchmarks.harness.http_load import TEXT, LoadPlan, LoadProcess
from benchmarks.harness.load import Stream, Timing
from benchmarks.harness.processes import (
    Server,
    free_port,
    free_ports,
    http_get,
    proxy_server,
    ready_replicas,
    redis_server,
    running,
    usage_of,
)
from benchmarks.harness.program import add_names, allow_open_files, options_parser, run_guarded
from benchmarks.harness.replicas import TRANSLATION, FleetShape, SimulatedFleet
from benchmarks.harness.report import Checks, RunFolder, table
from benchmarks.harness.texts import TextSource

READY_SECONDS: Final = 120.0
# After the first sweep, until every connection is open.
WARM_UP_SECONDS: Final = 3.0
# A sweep over 200 replicas takes a quarter of a CPU second, HTTP included; over more in proportion.
MAX_SWEEP_CPU_SECONDS: Final = 0.25 / 200
MAX_LOAD: Final = 39
PAGES: Final = 5
PAUSE_SECONDS: Final = 3.0
LOAD: Final = Timing(seconds=3.0, warm_up=0.5)
TEXTS: Final = TextSource(template="Where is the station, please, {}?", expected=TRANSLATION)
CONCURRENCY: Final = 4
PARTS: Final = ("sweeps", "requests", "health")
MEGABYTE: Final = 1 << 20
# Figures of a proxy, as the table writes them.
FIGURES: Final = {
    "CPU s a sweep": ".3f",
    "seconds": ".2f",
    "longest pause ms": ".0f",
    "CPU s a second": ".2f",
    "MB": ".0f",
    "/health bytes": ",.0f",
    "/health ms": ".0f",
    "CPU ms each": ".1f",
}


@dataclass
class FleetFigures:
    """One shape of fleet; ``proxies``: figures by role; ``requests``: CPU µs, p50 and p99 ms of one, by whom the pair is served."""

    shape: str
    proxies: list[tuple[str, dict[str, float]]] = field(default_factory=list[tuple[str, dict[str, float]]])
    requests: dict[str, tuple[float, float, float]] = field(default_factory=dict[str, tuple[float, float, float]])
    redis_bytes: float = 0.0
    reports_per_second: float = 0.0

    def judge(self, checks: Checks, replicas: int) -> None:
        """Add the targets."""
        for role, figures in self.proxies:
            if cpu := figures.get("CPU s a sweep"):
                name = f"{self.shape}: {role}, HTTP and Redis included, CPU of a sweep"
                checks.at_most(name, cpu, MAX_SWEEP_CPU_SECONDS * replicas, " s")

    def lines(self) -> list[str]:
        """Return the tables."""
        megabytes, reports = self.redis_bytes / MEGABYTE, self.reports_per_second
        proxies = (
            (role, *(format(figures.get(name, 0.0), style) for name, style in FIGURES.items()))
            for role, figures in self.proxies
        )
        requests = ((name, f"{cpu:.0f}", f"{p50:.1f} / {p99:.1f}") for name, (cpu, p50, p99) in self.requests.items())
        return [
            *(f"## {self.shape}", "", f"Redis: {megabytes:.1f} MB; reports a second: {reports:.0f}", ""),
            *(*table(("proxy", *FIGURES), proxies), ""),
            *(*table(("requests", "CPU µs each", "p50 / p99 ms"), requests), ""),
        ]


class RunningProxy:
    """One proxy process, and its figures."""

    def __init__(self, fleet: SimulatedFleet, redis_port: int, out: Path) -> None:
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.server = proxy_server(out, port, fleet.urls(), redis_port, f"proxy-{fleet.shape}-{port}")
        self.figures: dict[str, float] = {}

    def role(self) -> str:
        """Return whether it leads the sweeps."""
        return "leads" if json.loads(http_get(f"{self.url}/health"))["prober"] else "follows"

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

    def measure_health(self) -> None:
        """Get the page ``/health`` some times."""
        before = self.cpu()
        pages = [self.timed("/health") for _ in range(PAGES)]
        idle = self.figures.get("CPU s a second", 0.0) * sum(ms for _, ms in pages)
        self.figures["/health bytes"], self.figures["/health ms"] = len(pages[0][0]), median(ms for _, ms in pages)
        self.figures["CPU ms each"] = max(0.0, 1000 * (self.cpu() - before) - idle) / PAGES


async def measure(fleet: SimulatedFleet, out: Path, options: argparse.Namespace) -> FleetFigures:
    """Measure one shape of fleet."""
    redis_port, common = free_port(), str(fleet.all_pairs[0])
    proxies = [RunningProxy(fleet, redis_port, out) for _ in range(options.proxies)]

    async def all_known() -> bool:
        known = [await asyncio.to_thread(ready_replicas, proxy.url, common) for proxy in proxies]
        return all(count == fleet.replicas for count in known)

    figures = FleetFigures(fleet.shape)
    servers: list[Server] = [redis_server(redis_port, out), fleet.server(out), *(proxy.server for proxy in proxies)]
    async with running(servers, all_known, READY_SECONDS, "all replicas are known"):
        await asyncio.sleep(WARM_UP_SECONDS)
        for proxy in proxies:
            proxy.figures["MB"] = usage_of(proxy.server.pid).rss / MEGABYTE
            figures.proxies.append((proxy.role(), proxy.figures))
        if "sweeps" in options.parts:
            await measure_sweeps(figures, proxies, fleet, options)
            client: Any = Redis(port=redis_port)  # partly untyped in redis-py
            with client as redis:
                figures.redis_bytes = redis.info("memory")["used_memory"]
        if "requests" in options.parts:
            for pair in dict.fromkeys((fleet.all_pairs[0], fleet.all_pairs[-1])):
                number = sum(pair in fleet.pairs_of(each) for each in range(fleet.replicas))
                body = f'{{"text":{TEXT},"source_lang":"{pair.source}","target_lang":"{pair.target}"}}'
                figures.requests[f"pair served by {number}"] = await request_cost(proxies[0], body, out)
        if "health" in options.parts:
            for proxy in proxies:
                await asyncio.to_thread(proxy.measure_health)
    return figures


async def measure_sweeps(
    figures: FleetFigures, proxies: Sequence[RunningProxy], fleet: SimulatedFleet, options: argparse.Namespace
) -> None:
    """Let the proxies be, in rounds; then ask each for a small page again and again: the slowest answer is a pause."""
    counted = f"{fleet.urls()[0]}/counted"
    reports, began = json.loads(http_get(counted))["reports"], time.monotonic()
    # Of each proxy and round: sweeps, their seconds, CPU.
    rounds: list[list[tuple[float, float, float]]] = [[] for _ in proxies]
    for _ in range(options.rounds):
        before = [(*proxy.sweeps(), proxy.cpu()) for proxy in proxies]
        await asyncio.sleep(options.seconds)
        cpus = [proxy.cpu() for proxy in proxies]
        for found, proxy, cpu, then in zip(rounds, proxies, cpus, before, strict=True):
            count, seconds = proxy.sweeps()
            found.append((count - then[0], seconds - then[1], cpu - then[2]))
    figures.reports_per_second = (json.loads(http_get(counted))["reports"] - reports) / (time.monotonic() - began)
    for proxy, found in zip(proxies, rounds, strict=True):
        proxy.figures["CPU s a sweep"] = median(cpu / count for count, _, cpu in found)
        proxy.figures["seconds"] = median(seconds / count for count, seconds, _ in found)
        proxy.figures["CPU s a second"] = median(cpu for _, _, cpu in found) / options.seconds
        until, pauses = time.monotonic() + PAUSE_SECONDS, list[float]()
        while time.monotonic() < until:
            pauses.append(proxy.timed("/livez")[1])
        proxy.figures["longest pause ms"] = max(pauses)
        print(f"  {proxy.url}: {proxy.figures}", flush=True)


async def request_cost(proxy: RunningProxy, body: str, out: Path) -> tuple[float, float, float]:
    """Send requests; return CPU µs of one, less what the proxy takes without them, and p50 and p99 in ms."""
    idle = proxy.cpu()
    await asyncio.sleep(LOAD.seconds)
    idle = (proxy.cpu() - idle) / LOAD.seconds
    streams = [Stream("load", concurrency=CONCURRENCY)]
    plan = LoadPlan(f"{proxy.url}/translate", streams, TEXTS, LOAD, body=body, pid=proxy.server.pid)
    load = await LoadProcess(plan, out, f"load-{proxy.server.pid}-{time.monotonic_ns()}").run()
    cpu = (load.server.cpu - idle * load.seconds) / max(1, len(load.counted))
    return 1e6 * cpu, load.latency_ms(50), load.latency_ms(99)


def main() -> int:
    """Measure, write, print."""
    parser = options_parser("scale", "Many replicas and pairs.")
    parser.add_argument("--replicas", type=int, default=200)
    parser.add_argument("--pairs", type=int, default=50)
    parser.add_argument("--proxies", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=5, help="of which the median counts")
    parser.add_argument("--seconds", type=float, default=6.0, help="of a round")
    add_names(parser, "--shapes", list(FleetShape))
    add_names(parser, "--parts", PARTS)
    options = parser.parse_args()
    files = allow_open_files()
    if (options.proxies + 3) * options.replicas > files:
        raise SystemExit(f"scale: the replicas need more open files than the {files} that this machine allows")
    folder, fleets, checks = RunFolder(options.out), list[FleetFigures](), Checks()
    for shape in options.shapes:
        ports = free_ports(options.replicas)
        fleet = SimulatedFleet(ports, options.replicas, options.pairs, FleetShape(shape), MAX_LOAD)
        fleets.append(run_guarded(measure(fleet, folder.path, options)))
        fleets[-1].judge(checks, options.replicas)
    note = f"{options.replicas} replicas, {options.pairs} pairs, {options.proxies} proxies; medians of {options.rounds}"
    lines = [line for each in fleets for line in each.lines()]
    return folder.publish("Scale", note, lines, {"fleets": list(map(asdict, fleets))}, checks)


if __name__ == "__main__":
    sys.exit(main())
