"""Scenarios of the overload benchmark: what each sends, and its targets."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Final

import psutil

from benchmarks.harness.http_load import LoadPlan, LoadProcess
from benchmarks.harness.load import LoadResult, Stream, Timing
from benchmarks.harness.processes import (
    Server,
    cpu_seconds,
    free_port,
    proxy_server,
    python_server,
    ready_replicas,
    redis_server,
    running,
)
from benchmarks.harness.report import Checks
from benchmarks.harness.texts import TextSource
from benchmarks.overload.measurements import (
    HEADINGS,
    LoadSummary,
    RetrySummary,
    is_refused,
    summarize,
    unclear_failures,
)

CONCURRENCIES: Final = (8, 16, 32, 64)
MULTIPLES: Final = (0.5, 1.0, 2.0, 4.0)
# Each of the rates is sent so many times, by turns and beside a closed loop: the machine's speed drifts by a fifth within
# minutes. Medians are judged.
ROUNDS: Final = 3
WARM_UP_SECONDS: Final = 5.0
# Of each step that looks for the capacity.
STEP_WARM_UP_SECONDS: Final = 2.0
STEP_SECONDS: Final = 10.0
BURST_SECONDS: Final = 10.0
# Before the burst, so that it meets a fleet that has forgotten the loads before, whose clients never came back.
REST_SECONDS: Final = 5.0
OTHER_ADDRESS: Final = "127.0.0.2"
# Of the schedule, at the 99th percentile: above, the load generator is what was measured.
MAX_LATE_MS: Final = 25.0
# The promises, in percent.
MIN_GOODPUT_AT_4: Final = 90
MIN_LET_IN_AGAIN: Final = 70
PAIR: Final = "en-de"
# vLLM is imported and the model loaded within this.
READY_SECONDS: Final = 240.0
# No load sends more texts than this: each begins where no other one's numbers reach.
MAX_TEXTS_PER_LOAD: Final = 40_000


@dataclass
class OverloadBench:
    """One run on a fleet; ``seconds``: how long each load counts, and none is longer."""

    folder: Path
    texts: TextSource
    seconds: float
    proxy: Server
    apiserver: Server
    url: str
    # Requests a second of this mix; what the others are multiples of. The closed loop that reached it.
    capacity: float = 0.0
    best: Stream = field(default_factory=lambda: closed(CONCURRENCIES[0]))
    rows: list[tuple[str, LoadSummary]] = field(default_factory=list[tuple[str, LoadSummary]])
    # Over all loads and their whole time.
    failures: Counter[str] = field(default_factory=Counter[str])
    without_retry_after: int = 0
    checks: Checks = field(default_factory=Checks)
    notes: list[str] = field(default_factory=list[str])
    _loads: int = 0

    async def load(
        self, name: str, *streams: Stream, seconds: float | None = None, warm_up: float = WARM_UP_SECONDS
    ) -> tuple[LoadResult, list[LoadSummary]]:
        """Send the streams at once, add a row for each, count what no load may see."""
        self._loads += 1
        texts, timing = (
            replace(self.texts, first=self._loads * MAX_TEXTS_PER_LOAD),
            Timing(min(seconds or self.seconds, self.seconds), min(warm_up, self.seconds)),
        )
        plan, before = LoadPlan(f"{self.url}/translate", list(streams), texts, timing), self._cpu()
        result = await LoadProcess(plan, self.folder, f"load-{self._loads}").run()
        cpu = [now - then for now, then in zip(self._cpu(), before, strict=True)]
        self.failures.update(unclear_failures(result.samples))
        self.without_retry_after += sum(is_refused(sample) and sample.retry_after < 0 for sample in result.samples)
        summaries = [summarize(result, cpu, stream.name) for stream in streams]
        for stream, summary in zip(streams, summaries, strict=True):
            row = name if len(streams) == 1 else f"{name}: {stream.name}"
            self.rows.append((row, summary))
            cells = zip(HEADINGS[1:], summary.cells(), strict=True)
            print(f"{row}: {', '.join(f'{heading} {cell}' for heading, cell in cells)}", flush=True)
            if stream.rate and summary.late_p99 > MAX_LATE_MS:
                self.notes.append(f"The generator fell behind its schedule: {row}: {summary.late_p99:.0f} ms at p99.")
        return result, summaries

    def _cpu(self) -> list[float]:
        (engine,) = self.apiserver.children("EngineCore")
        return [
            cpu_seconds(each) for each in (psutil.Process(self.proxy.pid), psutil.Process(self.apiserver.pid), engine)
        ]


@asynccontextmanager
async def running_bench(folder: Path, texts: TextSource, seconds: float) -> AsyncGenerator[OverloadBench]:
    """Start everything and wait until the pair is served; leave no process behind."""
    redis_port, apiserver_port, proxy_port = free_port(), free_port(), free_port()
    url = f"http://127.0.0.1:{proxy_port}"
    settings = {"APISERVER_PORT": str(apiserver_port), "APISERVER_MODELS": PAIR}
    apiserver = python_server("apiserver", folder, settings, "apiserver")
    proxy = proxy_server(folder, proxy_port, [f"http://127.0.0.1:{apiserver_port}"], redis_port, "proxy")
    servers = [redis_server(redis_port, folder), apiserver, proxy]
    async with running(servers, lambda: ready_replicas(url, PAIR), READY_SECONDS):
        yield OverloadBench(folder, texts, seconds, proxy, apiserver, url)


def closed(concurrency: int) -> Stream:
    """Return the stream that keeps so many requests in flight."""
    return Stream(f"closed, {concurrency} at once", concurrency=concurrency)


async def measure_capacity(bench: OverloadBench) -> None:
    """Find the highest goodput of a closed loop."""
    for concurrency in CONCURRENCIES:
        stream = closed(concurrency)
        _, (step,) = await bench.load(stream.name, stream, seconds=STEP_SECONDS, warm_up=STEP_WARM_UP_SECONDS)
        if step.goodput > bench.capacity:
            bench.capacity, bench.best = step.goodput, stream


async def rates(bench: OverloadBench) -> None:
    """Send multiples of the capacity, and the best closed loop beside them."""
    streams = [bench.best, *(Stream(f"open, {times:g}×", rate=times * bench.capacity) for times in MULTIPLES)]
    rounds: dict[str, list[LoadSummary]] = {stream.name: [] for stream in streams}
    for number in range(1, ROUNDS + 1):
        for stream in streams:
            _, (step,) = await bench.load(f"{stream.name} ({number})", stream)
            rounds[stream.name].append(step)
    goodput = {name: median(step.goodput for step in steps) for name, steps in rounds.items()}
    units = {name: median(step.goodput_units for step in steps) for name, steps in rounds.items()}
    once, most, checks = rounds["open, 1×"], "open, 4×", bench.checks
    peak, peak_units = max(goodput.values()), max(units.values())
    bench.notes.append(
        f"Peak, of the medians of each rate and of the closed loop: {peak:.1f} requests/s, {peak_units:.1f} units/s."
    )
    checks.at_least("4×: goodput, of the peak in requests/s", 100 * goodput[most] / peak, MIN_GOODPUT_AT_4, " %")
    checks.at_least("4×: goodput, of the peak in units/s", 100 * units[most] / peak_units, MIN_GOODPUT_AT_4, " %")
    slowest = median(many.p99 / one.p99 for many, one in zip(rounds[most], once, strict=True))
    checks.at_most("4×: p99 of the translated, of that at 1×", slowest, 2)
    for name, steps in rounds.items():
        if refused := [step.refused_p99 for step in steps if step.refused]:
            checks.at_most(f"{name}: p99 of refusals", median(refused), 50, " ms")


async def burst(bench: OverloadBench) -> None:
    """Send bursts whose refused clients come back exactly when ``Retry-After`` says."""
    stream = Stream("burst", rate=4 * bench.capacity, retries=True)
    bursts: list[RetrySummary] = []
    for number in range(1, ROUNDS + 1):
        await asyncio.sleep(REST_SECONDS)
        result, _ = await bench.load(f"burst, 4× ({number})", stream, seconds=BURST_SECONDS, warm_up=0)
        bursts.append(RetrySummary.of(result))
        bench.notes.append(f"Burst {number}: {bursts[-1].words}")
    name = f"burst: second attempts that succeed, of {sum(each.retried for each in bursts)}"
    bench.checks.at_least(name, median(each.succeeded_percent for each in bursts), MIN_LET_IN_AGAIN, " %")
    bench.checks.at_most("burst: refused and not retried", sum(each.not_retried for each in bursts), 0)


async def priorities(bench: OverloadBench) -> None:
    """Send bulk beside interactive requests."""
    interactive = Stream("interactive", rate=0.5 * bench.capacity)
    _, (alone,) = await bench.load("interactive alone, 0.5×", interactive)
    bulk = Stream("bulk", rate=4 * bench.capacity, address=OTHER_ADDRESS, priority="bulk")
    _, (beside, mass) = await bench.load("bulk 4× beside", interactive, bulk)
    checks = bench.checks
    checks.at_most("bulk beside: p95 of interactive, of that alone", beside.p95 / alone.p95, 3)
    checks.at_most("bulk beside: interactive refused", beside.refused, 0)
    checks.at_least("bulk beside: goodput of bulk", mass.goodput, 0.1, "/s")


async def callers(bench: OverloadBench) -> None:
    """Let one caller flood while another sends seldom."""
    seldom = Stream("seldom", rate=0.1 * bench.capacity, address=OTHER_ADDRESS)
    _, (alone,) = await bench.load("seldom alone, 0.1×", seldom)
    flood = Stream("flood", rate=4 * bench.capacity)
    result, (beside, _) = await bench.load("flood 4× beside", seldom, flood)
    bench.checks.at_least("flood beside: the other's successes", beside.success_percent, 99, " %")
    slowest = max((sample.seconds for sample in result.samples if sample.stream == seldom.name), default=math.nan)
    bench.notes.append(
        f"Flood beside: the other caller's p95 is {beside.p95 / alone.p95:.2f} times that alone, its slowest response took "
        f"{1000 * slowest:.0f} ms."
    )


SCENARIOS: Final[dict[str, Callable[[OverloadBench], Awaitable[None]]]] = {
    "rates": rates,
    "burst": burst,
    "classes": priorities,
    "callers": callers,
}


def judge_all(bench: OverloadBench) -> None:
    """Judge the targets of every load."""
    codes = ", ".join(f"{code}: {count}" for code, count in bench.failures.items())
    name = "all loads: neither translated nor refused"
    bench.checks.at_most(f"{name} ({codes})" if codes else name, bench.failures.total(), 0)
    bench.checks.at_most("all loads: refusals without Retry-After", bench.without_retry_after, 0)
