"""The rounds: which points each has, and their measurement, one design after the other."""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import psutil

from benchmarks.harness.load import RESULT_JSON, Stream, Timing
from benchmarks.harness.processes import cpu_seconds
from benchmarks.origin.device_usage import MEBIBYTE, ReadGpu, timelines, watched
from benchmarks.origin.loads import PointPlan
from benchmarks.origin.measurements import PointMeasurement, median_of, select, summarize
from benchmarks.origin.processes import Design, Designs
from benchmarks.origin.texts import BOTH, UNIFORM

# Of two engines against one: few points.
BOTH_CONCURRENCIES: Final = (1, 25, 64)
# What the targets compare, and the article. Every other point is measured in the first round alone, for the figures.
PEERS_AT: Final = {"A": (25,), "C": (25,), "D": (25, 64), "F": (25,), "bare": (64,), "openai": (64,)}
# At once in a warm-up: what brings the design's largest batch, and in an open loop.
WARM_UP_AT: Final = {"A": 1, "B": 2, "C": 16}
MAX_CONCURRENCY: Final = 64
# A closed loop is warm when there were as many answers as clients; it counts from here on, warm or not: the slowest design's
# first answer to the last of 64 clients takes longer.
MAX_WARM_UP_SECONDS: Final = 25.0
OPEN_WARM_UP_SECONDS: Final = 1.0
# A closed loop counts until there were as many answers again, so much longer at most: else a slow design would be judged by few.
MAX_EXTENSION_SECONDS: Final = 7.5
# Work of clients that left: a queue of 300 requests one by one.
MAX_SETTLING_SECONDS: Final = 60
# A warm-up's texts beyond the first ones.
WARM_UP_SECONDS: Final = 0.1
# The timeline of steps is kept of this point, this long.
TIMELINE_AT: Final = 25
TIMELINE_SECONDS: Final = 3.0


@dataclass(frozen=True)
class Point:
    """One load: closed with ``concurrency`` in flight, or open with ``share`` of D's best rate; who is measured."""

    kind: str
    designs: tuple[str, ...]
    concurrency: int = 0
    share: float = 0.0

    def __str__(self) -> str:
        """Name it."""
        return f"{self.kind} c={self.concurrency}" if self.concurrency else f"{self.kind} open {self.share:g}x"


@dataclass(frozen=True)
class RunSelection:
    """What is wanted: designs, concurrencies of closed loops, shares of D's best rate of open ones, kinds of texts."""

    names: Sequence[str]
    concurrencies: Sequence[int]
    shares: Sequence[float]
    kinds: Sequence[str]


def round_points(number: int, selection: RunSelection) -> Iterator[Point]:
    """Yield a round's points; rounds count from 0. Each names its designs in another order than the one before."""
    for turn, (kind, names, concurrency, share) in enumerate(_points(number, selection), number):
        at = turn % len(names)
        yield Point(kind, (*names[at:], *names[:at]), concurrency, share)


def _points(number: int, selection: RunSelection) -> Iterator[tuple[str, list[str], int, float]]:
    names, first = selection.names, number == 0
    others = [name for name in names if name != "F"]
    for kind in selection.kinds:
        for at in selection.concurrencies:
            if wanted := [name for name in others if first or name == "E" or at in PEERS_AT.get(name, ())]:
                yield kind, wanted, at, 0.0
    if {"D", "F"} <= set(names):
        for at in selection.concurrencies:
            if at in (BOTH_CONCURRENCIES if first else PEERS_AT["F"]):
                yield BOTH, ["D", "F"], at, 0.0
    if first and "D" in names and UNIFORM in selection.kinds:
        for share in selection.shares:
            yield UNIFORM, others, 0, share


def warm_up_points(selection: RunSelection) -> Iterator[Point]:
    """Yield a point for each design that its engines meet before the first round."""
    most = MAX_CONCURRENCY if selection.shares else max(selection.concurrencies)
    for name in selection.names:
        yield Point(BOTH if name == "F" else UNIFORM, (name,), min(WARM_UP_AT.get(name, most), most))


@dataclass
class OriginBench:
    """Measures; mutable state: what was found, and how far the texts are used up."""

    fleet: Designs
    seconds: float
    read_gpu: ReadGpu | None = None
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
        self.memory = {
            name: design.by_role(lambda process: process.memory_full_info().pss / MEBIBYTE)
            for name, design in self.fleet.designs.items()
        }

    async def _measure(self, point: Point, name: str, number: int, seconds: float) -> tuple[PointMeasurement, int]:
        """Return one design's figures at a point, and how many texts it was sent."""
        design = self.fleet.designs[name]
        design.engine_work()
        before, machine = self._cpu(), machine_cpu()
        design.signal_engines(signal.SIGCONT)
        async with watched(lambda: sum(design.by_role(cpu_seconds).values()), self.read_gpu) as readings:
            load = await self.fleet.load(design, self._plan(point, seconds))
        after, machine = self._cpu(), machine_cpu() - machine
        self._plans += 1
        answers = self.fleet.folder / "answers"
        answers.mkdir(exist_ok=True)
        (answers / f"{self._plans:04}-{name}.json").write_bytes(RESULT_JSON.dump_json(load))
        work = design.engine_work()
        if any(sample.failed for sample in load.samples):
            await _wait_until_idle(design)
        design.signal_engines(signal.SIGSTOP)
        lasted = load.ended - load.began
        spent = {who: {role: after[who][role] - cpu for role, cpu in roles.items()} for who, roles in before.items()}
        others = sum(sum(roles.values()) for who, roles in spent.items() if who != name)
        own = sum(spent[name].values()) + (0.0 if name == "bare" else load.cpu)
        steps_end = load.since + min(TIMELINE_SECONDS, seconds)
        steps = [(ended - load.since, batch) for ended, batch in work.timeline if load.since <= ended < steps_end]
        cpu_timeline, gpu_timeline = timelines(readings, load.since, load.until)
        row = PointMeasurement(
            point=str(point),
            kind=point.kind,
            concurrency=point.concurrency,
            share=point.share,
            round=number,
            name=name,
            others_cpu=others / lasted,
            elsewhere_cpu=max(0.0, machine - others - own) / lasted,
            cpu_timeline=cpu_timeline,
            gpu_timeline=gpu_timeline,
            steps=steps if point.concurrency == TIMELINE_AT and number == 0 else [],
            **summarize(load, work, spent[name], is_open=not point.concurrency),
        )
        return row, len(load.samples)

    def _plan(self, point: Point, seconds: float) -> PointPlan:
        at = point.concurrency
        closed = Timing(seconds, MAX_WARM_UP_SECONDS, at, at, MAX_EXTENSION_SECONDS)
        stream = Stream("texts", rate=point.share * self._best(point.kind), concurrency=at)
        return PointPlan(
            point.kind, self._first[point.kind], stream, closed if at else Timing(seconds, OPEN_WARM_UP_SECONDS)
        )

    def _cpu(self) -> dict[str, dict[str, float]]:
        return {name: design.by_role(cpu_seconds) for name, design in self.fleet.designs.items()}

    def _best(self, kind: str) -> float:
        """Return D's best rate so far; 0 where it has none."""
        at = {row.concurrency for row in self.rows if row.name == "D" and row.kind == kind and row.concurrency}
        return max((median_of(select(self.rows, kind, one, "D").values(), "rate") for one in at), default=0.0)


def machine_cpu() -> float:
    """Return the CPU seconds that the machine has not been idle, what a hypervisor gave to others included."""
    times = psutil.cpu_times()
    return times.user + times.nice + times.system + times.irq + times.softirq + times.steal


async def _wait_until_idle(design: Design) -> None:
    """Wait until the engine has done what nobody waits for any more."""
    for _ in range(MAX_SETTLING_SECONDS):
        await asyncio.sleep(1)
        if not design.engine_work().steps:
            return
