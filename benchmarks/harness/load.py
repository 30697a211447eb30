"""Load generator: closed and open loops of whatever sends a request, and the one result that they have.

    samples: list[Sample] = []      # to which ``send`` adds
    result = await run_load([(Stream("load", concurrency=32), send)], samples, Timing(seconds=2, warm_up=1))

``benchmarks.harness.http_load`` sends HTTP requests so, from a process of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final, NamedTuple

from pydantic import TypeAdapter

from benchmarks.harness.processes import Usage, usage_of
from benchmarks.harness.report import percentile_ms

# Sends a request that was due at that monotonic second, and returns when its response is there.
Send = Callable[[float], Coroutine[Any, Any, object]]
# Clients have machines of their own: here they come before the servers, where that is allowed.
NICENESS: Final = -10
# Between two looks at whether a load is warm, or over.
LOOK_SECONDS: Final = 0.02


class Sample(NamedTuple):
    """One request and its response; times are monotonic seconds.

    ``units`` is the cost of its text, ``due`` when it should have been sent. ``status`` 0 is no response. ``code`` is the problem's code,
    the client's error, or what is wrong with a translation; empty for a right one. ``retry_after`` is -1 without the header;
    ``attempt`` is 2 for a request that was refused and sent again when ``Retry-After`` said.
    """

    stream: str
    number: int
    units: float
    due: float
    sent: float
    ended: float
    status: int
    code: str
    model: str = ""
    retry_after: float = -1.0
    attempt: int = 1

    @property
    def seconds(self) -> float:
        """Latency from sending to the end of the response."""
        return self.ended - self.sent

    @property
    def failed(self) -> bool:
        """Whether it is anything but a right translation."""
        return self.status != 200 or bool(self.code)


def failures(samples: Iterable[Sample]) -> dict[str, int]:
    """Count failed requests by status and code, the most frequent first."""
    return dict(Counter(f"{sample.status} {sample.code}" for sample in samples if sample.failed).most_common())


@dataclass(frozen=True)
class LoadResult:
    """Samples in the order of their sending; what counts lies between ``since`` and ``until`` (monotonic seconds).

    ``cpu`` are the sender's CPU seconds from the first request (``began``) to the last response (``ended``). ``server`` is the CPU of a watched
    process with its descendants in the time that counts, and its memory at the end of it.
    """

    samples: list[Sample]
    began: float
    since: float
    until: float
    ended: float
    cpu: float
    server: Usage = field(default_factory=Usage)

    @property
    def seconds(self) -> float:
        """Length of the time that counts."""
        return self.until - self.since

    @property
    def counted(self) -> list[Sample]:
        """Right responses that came in the time that counts."""
        return [sample for sample in self.samples if self.since <= sample.ended < self.until and not sample.failed]

    @property
    def due(self) -> list[Sample]:
        """First attempts that were due in the time that counts."""
        return [sample for sample in self.samples if self.since <= sample.due < self.until and sample.attempt == 1]

    @property
    def rate(self) -> float:
        """Right responses a second."""
        return len(self.counted) / self.seconds

    @property
    def cpu_share(self) -> float:
        """Cores that the sender took."""
        return self.cpu / (self.ended - self.began)

    def latency_ms(self, percent: float) -> float:
        """Return a percentile of the counted responses' latencies; NaN of none."""
        return percentile_ms((sample.seconds for sample in self.counted), percent)


RESULT_JSON: Final = TypeAdapter(LoadResult)


@dataclass(frozen=True)
class Timing:
    """What of a load counts: ``seconds`` after a warm-up; 0 counts until told to stop.

    The warm-up ends after its seconds, or as soon as there are ``warm_responses``. The time that counts is longer, by ``extension`` seconds at
    most, until there are ``min_responses``.
    """

    seconds: float = 0.0
    warm_up: float = 0.0
    warm_responses: int = 0
    min_responses: int = 0
    extension: float = 0.0


@dataclass(frozen=True)
class Stream:
    """One client: ``rate`` a second (open loop), or ``concurrency`` requests in flight (closed loop).

    ``poisson``: at random times; ``retries``: a refused request is sent again when ``Retry-After`` says.
    """

    name: str
    rate: float = 0.0
    concurrency: int = 0
    poisson: bool = True
    address: str = "127.0.0.1"
    priority: str = "interactive"
    retries: bool = False

    async def run(self, send: Send, stop: asyncio.Event, seed: object) -> None:
        """Send until told to stop; wait for the last responses."""
        if self.concurrency:
            await closed_loop(self.concurrency, send, stop)
        elif self.poisson:
            await open_loop(poisson(self.rate, Random(f"{seed} {self.name}")), send, stop)  # noqa: S311 - a schedule
        else:
            await open_loop(steady(self.rate), send, stop)


def poisson(rate: float, rng: Random) -> Iterator[float]:
    """Yield random pauses (seconds) between requests."""
    while True:
        yield rng.expovariate(rate)


def steady(rate: float) -> Iterator[float]:
    """Yield equal pauses (seconds) between requests."""
    return itertools.repeat(1 / rate)


async def closed_loop(concurrency: int, send: Send, stop: asyncio.Event) -> None:
    """Keep so many requests in flight until told to stop; wait for the last responses."""

    async def client() -> None:
        while not stop.is_set():
            await send(time.monotonic())

    async with asyncio.TaskGroup() as group:
        for _ in range(concurrency):
            group.create_task(client())


async def open_loop(pauses: Iterator[float], send: Send, stop: asyncio.Event) -> None:
    """Send at due times, however long responses take, until told to stop; wait for the last responses."""
    due = time.monotonic()
    async with asyncio.TaskGroup() as group:
        while not stop.is_set():
            group.create_task(send(due))
            due += next(pauses)
            await _wait(stop, due - time.monotonic())


async def _wait(stop: asyncio.Event, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(max(0.0, seconds)):
            await stop.wait()


async def run_load(
    streams: Sequence[tuple[Stream, Send]],
    samples: list[Sample],
    timing: Timing,
    *,
    stop: asyncio.Event | None = None,
    seed: object = 0,
    pid: int = 0,
) -> LoadResult:
    """Send the streams at once and measure; every ``send`` adds to ``samples``. ``pid``: a server's process to watch."""
    stop = stop or asyncio.Event()

    async def pass_time(least: float, most: float, responses: int) -> None:
        began = time.monotonic()
        while not stop.is_set() and (passed := time.monotonic() - began) < most:
            if passed >= least and len(samples) >= responses:
                return
            await _wait(stop, LOOK_SECONDS)

    cpu, began = time.process_time(), time.monotonic()
    async with asyncio.TaskGroup() as group:
        for stream, send in streams:
            group.create_task(stream.run(send, stop, seed))
        await pass_time(0.0 if timing.warm_responses else timing.warm_up, timing.warm_up, timing.warm_responses)
        before, since = usage_of(pid), time.monotonic()
        seconds, responses = timing.seconds or float("inf"), len(samples) + timing.min_responses
        await pass_time(seconds, seconds + timing.extension, responses)
        after, until = usage_of(pid), time.monotonic()
        stop.set()
    server = Usage(after.cpu - before.cpu, after.rss)
    cpu, ended = time.process_time() - cpu, time.monotonic()
    return LoadResult(sorted(samples, key=lambda sample: sample.sent), began, since, until, ended, cpu, server)


def raise_priority() -> None:
    """Put this process before the servers, where that is allowed."""
    with contextlib.suppress(PermissionError):
        os.nice(NICENESS)
