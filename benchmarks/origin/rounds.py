"""The rounds: every point of each, one design after the other."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import psutil

from benchmarks.origin.device_usage import GpuReading, cores, cpu_readings, gpu_timeline
from benchmarks.origin.engine_metrics import EngineWork, engine_work
from benchmarks.origin.load_driver import OPEN_WARM_UP_SECONDS, PointPlan
from benchmarks.origin.load_points import Point, RunSelection, round_points, warm_up_points
from benchmarks.origin.processes import Designs
from benchmarks.origin.report.measurements import PointMeasurement, median_over, select, step_timeline, summarize
from benchmarks.origin.workload.candidate_texts import UNIFORM
from benchmarks.origin.workload.text_file import BOTH, TextPool

# A closed loop counts from here on, warm or not: the slowest design's first answer to the last of 64 clients takes longer.
MAX_WARM_UP_SECONDS: Final = 25.0
# Work of clients that left: a queue of 300 requests one by one.
MAX_SETTLING_SECONDS: Final = 60.0
# A warm-up's texts beyond the first ones.
WARM_UP_SECONDS: Final = 0.1
# The timeline of steps is kept of this point, this long.
TIMELINE_AT: Final = 25
TIMELINE_SECONDS: Final = 3.0


@dataclass
class OriginBench:
    """Measures; mutable state: what was found, and how far the texts are used up.

    ``gpu`` are the last looks at it, none without one; ``to_the_last`` says that every answer has all tokens that it may have.
    """

    fleet: Designs
    pool: TextPool
    seconds: float
    gpu: Sequence[GpuReading] = ()
    full_length: bool = False
    rows: list[PointMeasurement] = field(default_factory=list[PointMeasurement])
    memory: dict[str, dict[str, float]] = field(default_factory=dict[str, dict[str, float]])
    again: Counter[str] = field(default_factory=Counter[str])
    _first: Counter[str] = field(default_factory=Counter[str])
    _plans: int = 0

    async def warm_up(self, selection: RunSelection) -> None:
        """Let every engine meet each size of batch once, unmeasured: the first step of a size is slow."""
        used = 0
        for point in warm_up_points(selection):
            (name,) = point.designs
            _, sent = await self._measure(point, name, 0, WARM_UP_SECONDS)
            used = max(used, sent)
        self._use(UNIFORM, used)

    async def round(self, number: int, selection: RunSelection) -> None:
        """Measure a round."""
        for point in round_points(number, selection):
            used = 0
            for name in point.designs:
                measurement, sent = await self._measure(point, name, number, self.seconds)
                used = max(used, sent)
                self.rows.append(measurement)
                print(
                    f"round {number + 1}, {point}, {name}: {measurement.rate:.1f} texts/s, p50 {measurement.p50:.0f} ms, "
                    f"CPU {measurement.whole_cpu_ms:.1f} ms{f', failed {measurement.failed}' if measurement.failed else ''}",
                    flush=True,
                )
            # Every design gets the same texts at a point, and no text twice.
            self._use(point.kind, used)
        self.memory = {name: design.memory() for name, design in self.fleet.designs.items()}

    def _use(self, kind: str, texts: int) -> None:
        pool = "uniform" if kind == BOTH else kind
        self._first[pool] += texts
        self.again[pool] = max(0, self._first[pool] - self.pool.size(pool))

    async def _measure(self, point: Point, name: str, number: int, seconds: float) -> tuple[PointMeasurement, int]:
        design = self.fleet.designs[name]
        self._plans += 1
        plan = PointPlan(
            out=str(self.fleet.folder / "answers" / f"{self._plans:04}-{name}.json"),
            url=design.url,
            kind=point.kind,
            first=self._first["uniform" if point.kind == BOTH else point.kind],
            seconds=seconds,
            warm_up=MAX_WARM_UP_SECONDS if point.concurrency else OPEN_WARM_UP_SECONDS,
            concurrency=point.concurrency,
            rate=point.share * self._best(point.kind),
            openai=name == "openai",
            full_length=self.full_length,
        )
        async with engine_work(design, plan) as work:
            before, machine = self._cpu(), machine_cpu()
            design.resume()
            async with cpu_readings(lambda: design.cpu().total()) as cpu:
                load = await self.fleet.load(name, plan)
            after, machine = self._cpu(), machine_cpu() - machine
            engine_work_done = await work()
            if any(answer.error for answer in load.answers):
                await _wait_until_idle(work)
            design.pause()
        lasted = max(answer.ended for answer in load.answers) - load.began
        spent = {who: {role: after[who][role] - cpu for role, cpu in roles.items()} for who, roles in before.items()}
        others = sum(sum(roles.values()) for who, roles in spent.items() if who != name)
        own = sum(spent[name].values()) + (0.0 if name == "bare" else load.cpu)
        kept = point.concurrency == TIMELINE_AT and number == 0
        figures: dict[str, Any] = summarize(load, engine_work_done.did, spent[name], is_open=not point.concurrency)
        row = PointMeasurement(
            point=str(point),
            kind=point.kind,
            concurrency=point.concurrency,
            share=point.share,
            round=number,
            name=name,
            others_cpu=others / lasted,
            elsewhere_cpu=max(0.0, machine - others - own) / lasted,
            cpu_timeline=cores(cpu, load.since, load.until),
            gpu_timeline=gpu_timeline(self.gpu, load.since, load.until),
            steps=step_timeline(engine_work_done.steps, load.since, min(TIMELINE_SECONDS, seconds)) if kept else [],
            **figures,
        )
        return row, len(load.answers)

    def _cpu(self) -> dict[str, Counter[str]]:
        return {name: design.cpu() for name, design in self.fleet.designs.items()}

    def _best(self, kind: str) -> float:
        """Return D's best rate so far; 0 where it has none."""
        at = {row.concurrency for row in self.rows if row.name == "D" and row.kind == kind and row.concurrency}
        return max(
            (median_over(select(self.rows, kind, one, "D").values(), lambda row: row.rate) for one in at), default=0.0
        )


def machine_cpu() -> float:
    """Return the CPU seconds that the machine has not been idle, what a hypervisor gave to others included."""
    times = psutil.cpu_times()
    return times.user + times.nice + times.system + times.irq + times.softirq + times.steal


async def _wait_until_idle(work: Callable[[], Awaitable[EngineWork]]) -> None:
    """Wait until the engine has done what nobody waits for any more."""
    until = time.monotonic() + MAX_SETTLING_SECONDS
    while time.monotonic() < until:
        await asyncio.sleep(1)
        if not (await work()).steps:
            return
