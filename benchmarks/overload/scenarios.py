"""The overload benchmark's parts: what each sends, and what is promised of it."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from benchmarks.harness.load import Stream
from benchmarks.overload.measurements import Figures, Returns, failures, figures, is_refused, percentile_ms, returns
from tests.faults.result import Result

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from benchmarks.overload.fleet import Fleet, Load

CONCURRENCIES: Final = (8, 16, 32, 64)
TIMES: Final = (0.5, 1.0, 2.0, 4.0)
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
# Of the schedule, at the 99th percentile: above, the generator is what was measured.
MOST_LATE_MS: Final = 25.0


@dataclass
class Bench:
    """One run: its fleet, how long each load counts, and what was found so far."""

    fleet: Fleet
    seconds: float
    # Requests a second of this mix; what the others are multiples of. The closed loop that got it.
    capacity: float = 0.0
    best: Stream = field(default_factory=lambda: closed(CONCURRENCIES[0]))
    rows: list[tuple[str, Figures]] = field(default_factory=list[tuple[str, Figures]])
    # Over all loads and their whole time.
    failures: Counter[str] = field(default_factory=Counter[str])
    without_retry_after: int = 0
    found: Result = field(default_factory=lambda: Result("overload"))
    more: dict[str, Any] = field(default_factory=dict[str, Any])

    async def load(
        self, name: str, *streams: Stream, seconds: float | None = None, warm_up: float = WARM_UP_SECONDS
    ) -> tuple[Load, list[Figures]]:
        """Send the streams, note a row of each, count what no load may see."""
        load = await self.fleet.load(streams, seconds or self.seconds, warm_up)
        self.failures.update(failures(load.answers))
        self.without_retry_after += sum(is_refused(answer) and answer.retry_after < 0 for answer in load.answers)
        found = [figures(load, stream.name) for stream in streams]
        for stream, figure in zip(streams, found, strict=True):
            row = name if len(streams) == 1 else f"{name}: {stream.name}"
            self.rows.append((row, figure))
            print(
                f"{row}: offered {figure.offered:.1f}/s, goodput {figure.goodput:.1f}/s, p50 {figure.p50:.0f} ms, "
                f"p99 {figure.p99:.0f} ms; refused {figure.refused} (p99 {figure.refused_p99:.0f} ms), "
                f"neither {figure.others or 0}",
                flush=True,
            )
            if stream.rate and figure.late_p99 > MOST_LATE_MS:
                self.more.setdefault("late", []).append(f"{row}: {figure.late_p99:.0f} ms at p99")
        return load, found


def closed(concurrency: int) -> Stream:
    """Return the stream that keeps so many requests in flight."""
    return Stream(f"closed, {concurrency} at once", concurrency=concurrency)


async def capacity(bench: Bench) -> None:
    """Find the most that a closed loop gets done."""
    for concurrency in CONCURRENCIES:
        stream = closed(concurrency)
        _, (step,) = await bench.load(stream.name, stream, seconds=STEP_SECONDS, warm_up=STEP_WARM_UP_SECONDS)
        if step.goodput > bench.capacity:
            bench.capacity, bench.best = step.goodput, stream


async def rates(bench: Bench) -> None:
    """Send multiples of the capacity, and the best closed loop beside them."""
    streams = [bench.best, *(Stream(f"open, {times:g}×", rate=times * bench.capacity) for times in TIMES)]
    rounds: dict[str, list[Figures]] = {stream.name: [] for stream in streams}
    for number in range(1, ROUNDS + 1):
        for stream in streams:
            _, (step,) = await bench.load(f"{stream.name} ({number})", stream)
            rounds[stream.name].append(step)
    goodput = {name: median(step.goodput for step in steps) for name, steps in rounds.items()}
    units = {name: median(step.goodput_units for step in steps) for name, steps in rounds.items()}
    once, most, found = rounds["open, 1×"], "open, 4×", bench.found
    peak, peak_units = max(goodput.values()), max(units.values())
    bench.more["peak"] = {"requests": peak, "units": peak_units}
    found.promise_at_least(
        "4×: goodput, of the peak in requests/s", found=100 * goodput[most] / peak, at_least=95, unit=" %"
    )
    found.promise_at_least(
        "4×: goodput, of the peak in units/s", found=100 * units[most] / peak_units, at_least=95, unit=" %"
    )
    slowest = median(many.p99 / one.p99 for many, one in zip(rounds[most], once, strict=True))
    found.promise("4×: p99 of the translated, of that at 1×", found=slowest, at_most=2)
    for name, steps in rounds.items():
        if refused := [step.refused_p99 for step in steps if step.refused]:
            found.promise(f"{name}: p99 of refusals", found=median(refused), at_most=50, unit=" ms")


async def burst(bench: Bench) -> None:
    """Send bursts whose refused clients come back exactly when they were told to."""
    stream = Stream("burst", rate=4 * bench.capacity, returns=True)
    bursts: list[Returns] = []
    for number in range(1, ROUNDS + 1):
        await asyncio.sleep(REST_SECONDS)
        load, _ = await bench.load(f"burst, 4× ({number})", stream, seconds=BURST_SECONDS, warm_up=0)
        bursts.append(returns(load))
    bench.more["returns"] = [each._asdict() for each in bursts]
    bench.found.promise_at_least(
        f"burst: second tries that succeed, of {sum(each.came_back for each in bursts)}",
        found=median(each.succeeded for each in bursts),
        at_least=90,
        unit=" %",
    )
    bench.found.promise("burst: refused and never asked back", found=sum(each.never for each in bursts), at_most=0)


async def classes(bench: Bench) -> None:
    """Send bulk beside interactive requests."""
    interactive = Stream("interactive", rate=0.5 * bench.capacity)
    _, (alone,) = await bench.load("interactive alone, 0.5×", interactive)
    bulk = Stream("bulk", rate=4 * bench.capacity, address=OTHER_ADDRESS, priority="bulk")
    _, (beside, mass) = await bench.load("bulk 4× beside", interactive, bulk)
    found = bench.found
    found.promise("bulk beside: p95 of interactive, of that alone", found=beside.p95 / alone.p95, at_most=3)
    found.promise("bulk beside: interactive refused", found=beside.refused, at_most=0)
    found.promise_at_least("bulk beside: goodput of bulk", found=mass.goodput, at_least=0.1, unit="/s")


async def callers(bench: Bench) -> None:
    """Let one caller flood while another asks seldom."""
    seldom = Stream("seldom", rate=0.1 * bench.capacity, address=OTHER_ADDRESS)
    _, (alone,) = await bench.load("seldom alone, 0.1×", seldom)
    flood = Stream("flood", rate=4 * bench.capacity)
    load, (beside, _) = await bench.load("flood 4× beside", seldom, flood)
    bench.found.promise_at_least("flood beside: the other's successes", found=beside.success, at_least=99, unit=" %")
    bench.more["seldom_p95_ratio"] = beside.p95 / alone.p95
    waits = [answer.ended - answer.sent for answer in load.answers if answer.stream == seldom.name]
    bench.more["seldom_slowest_ms"] = percentile_ms(waits, 100)


PARTS: Final[dict[str, Callable[[Bench], Awaitable[None]]]] = {
    "rates": rates,
    "burst": burst,
    "classes": classes,
    "callers": callers,
}


def judge_all(bench: Bench) -> None:
    """Judge what is promised of every load."""
    kinds = ", ".join(f"{kind}: {count}" for kind, count in bench.failures.items())
    name = "all loads: neither translated nor refused"
    bench.found.promise(f"{name} ({kinds})" if kinds else name, found=bench.failures.total(), at_most=0)
    bench.found.promise("all loads: refusals without Retry-After", found=bench.without_retry_after, at_most=0)
