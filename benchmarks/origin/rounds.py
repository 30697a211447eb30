"""The rounds: every point of each, one design after the other."""

from __future__ import annotations

import asyncio
import signal
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

import psutil

from benchmarks.harness.load import Stream, Timing
from benchmarks.origin.device_usage import Gpu, cores, gpu_timeline, watched
from benchmarks.origin.loads import PointPlan, read_result
from benchmarks.origin.measurements import PointMeasurement, median_over, select, step_timeline, summarize
from benchmarks.origin.points import Point, RunSelection, round_points, warm_up_points
from benchmarks.origin.processes import Design, Designs

# A closed loop is warm when there were as many answers as clients; it counts from here on, warm or not: the slowest design's
# first answer to the last of 64 clients takes longer.
MAX_WARM_UP_SECONDS: Final = 25.0
OPEN_WARM_UP_SECONDS: Final = 1.0
# A closed loop counts until there were as many answers again, so much longer at most: else a slow design would be judged by few.
MAX_EXTENSION_SECONDS: Final = 7.5
# Work of clients that left: a queue of 300 requests one by one.
MAX_SETTLING_SECONDS: Final = 60.0
# A warm-up's texts beyond the first ones.
WARM_UP_SECONDS: Final = 0.1
# The timeline of steps is kept of this point, this long.
TIMELINE_AT: Final = 25
TIMELINE_SECONDS: Final = 3.0


@dataclass
class OriginBench:
    """Measures; mutable state: what was found, and how far the texts are used up."""

    fleet: Designs
    seconds: float
    gpu: Gpu | None = None
    rows: list[PointMeasurement] = field(default_factory=list[PointMeasurement])
    memory: dict[str, dict[str, float]] = field(default_factory=dict[str, dict[str, float]])
    _first: Counter[str] = field(default_factory=Counter[str])
    _plans: int = 0

    async def warm_up(self, selection: RunSelection) -> None:
        """Let every engine meet each size of batch once, unmeasured: the first step of a size is slow."""
        for point in warm_up_points(selection):
            await self._measure(point, point.designs[0], 0, WARM_UP_SECONDS)

    async def round(self, number: int, selection: RunSelection) -> None:
        """Measure a round; every design gets the same texts at a point."""
        for point in round_points(number, selection):
            used = 0
            for name in point.designs:
                row, sent = await self._measure(point, name, number, self.seconds)
                used = max(used, sent)
                self.rows.append(row)
                print(
                    f"round {number + 1}, {point}, {name}: {row.rate:.1f} texts/s, p50 {row.p50:.0f} ms, "
                    f"CPU {row.whole_cpu_ms:.1f} ms{f', failed {row.failed}' if row.failed else ''}",
                    flush=True,
                )
            self._first[point.kind] += used
        self.memory = {name: design.memory() for name, design in self.fleet.designs.items()}

    async def _measure(self, point: Point, name: str, number: int, seconds: float) -> tuple[PointMeasurement, int]:
        design = self.fleet.designs[name]
        plan = self._plan(point, design, seconds)
        first_work = design.engine_work()
        before, machine = self._cpu(), machine_cpu()
        design.signal_engines(signal.SIGCONT)
        async with watched(lambda: design.cpu().total(), self.gpu) as readings:
            content = await self.fleet.load(design, plan)
        after, machine = self._cpu(), machine_cpu() - machine
        self._plans += 1
        (self.fleet.folder / "answers" / f"{self._plans:04}-{name}.json").write_bytes(content)
        load = read_result(content)
        work = design.engine_work()
        if design.metrics:
            work = work.since(first_work)
        if any(sample.failed for sample in load.samples):
            await _wait_until_idle(design)
        design.signal_engines(signal.SIGSTOP)
        lasted = load.ended - load.began
        spent = {who: {role: after[who][role] - cpu for role, cpu in roles.items()} for who, roles in before.items()}
        others = sum(sum(roles.values()) for who, roles in spent.items() if who != name)
        own = sum(spent[name].values()) + (0.0 if name == "bare" else load.cpu)
        is_kept = point.concurrency == TIMELINE_AT and number == 0
        row = PointMeasurement(
            point=str(point),
            kind=point.kind,
            concurrency=point.concurrency,
            share=point.share,
            round=number,
            name=name,
            others_cpu=others / lasted,
            elsewhere_cpu=max(0.0, machine - others - own) / lasted,
            cpu_timeline=cores(readings, load.since, load.until),
            gpu_timeline=gpu_timeline(readings, load.since, load.until),
            steps=step_timeline(work.timeline, load.since, min(TIMELINE_SECONDS, seconds)) if is_kept else [],
            **summarize(load, work, spent[name], is_open=not point.concurrency),
        )
        return row, len(load.samples)

    def _plan(self, point: Point, design: Design, seconds: float) -> PointPlan:
        at = point.concurrency
        if at:
            timing = Timing(seconds, MAX_WARM_UP_SECONDS, at, at, MAX_EXTENSION_SECONDS)
        else:
            timing = Timing(seconds, OPEN_WARM_UP_SECONDS)
        stream = Stream("texts", rate=point.share * self._best(point.kind), concurrency=at)
        first = self._first[point.kind]
        return PointPlan(design.url, point.kind, first, stream, timing, openai=design.name == "openai")

    def _cpu(self) -> dict[str, Counter[str]]:
        return {name: design.cpu() for name, design in self.fleet.designs.items()}

    def _best(self, kind: str) -> float:
        """Return D's best rate so far; 0 where it has none."""
        at = {row.concurrency for row in self.rows if row.name == "D" and row.kind == kind and row.concurrency}
        rates = (median_over(select(self.rows, kind, one, "D").values(), lambda row: row.rate) for one in at)
        return max(rates, default=0.0)


def machine_cpu() -> float:
    """Return the CPU seconds that the machine has not been idle, what a hypervisor gave to others included."""
    times = psutil.cpu_times()
    return times.user + times.nice + times.system + times.irq + times.softirq + times.steal


async def _wait_until_idle(design: Design) -> None:
    """Wait until the engine has done what nobody waits for any more."""
    until, before = time.monotonic() + MAX_SETTLING_SECONDS, -1.0
    while time.monotonic() < until:
        await asyncio.sleep(1)
        steps = design.engine_work().steps
        # A record begins at 0 with each look, vLLM's counters go on.
        if steps == (before if design.metrics else 0):
            return
        before = steps
