"""Load of one point, closed or open, whatever takes the texts; and the processes that send it, told by lines on stdin."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

from benchmarks.harness.load import closed_loop, open_loop, poisson
from benchmarks.origin.workload.text_file import OriginText, TextPool, read

# Takes a text; returns '' or the error.
Send = Callable[[OriginText], Awaitable[str]]

# What a process writes when its engine runs, and when it has a plan's answers.
READY: Final = "origin: ready"
DONE: Final = "origin: done"
# A closed loop is warm when there were as many answers as clients, an open one after this.
OPEN_WARM_UP_SECONDS: Final = 1.0
# A closed loop counts until there were as many answers again, so much longer at most: else a slow design would be judged by few.
MAX_EXTENSION_SECONDS: Final = 7.5


@dataclass(frozen=True)
class PointPlan:
    """One point: ``concurrency`` in flight (closed), or ``rate`` a second at random times (open), for ``seconds`` when warm.

    ``first`` is the number of the first text of the kind; ``warm_up`` the time until it counts, seconds: of a closed loop the longest.
    ``openai`` says that a text goes to vLLM's own server, ``full_length`` that it must make all tokens that an answer may have.
    """

    out: str
    url: str
    kind: str
    first: int
    seconds: float
    warm_up: float
    concurrency: int = 0
    rate: float = 0.0
    openai: bool = False
    full_length: bool = False


class TextAnswer(NamedTuple):
    """One text, when it was due and answered (monotonic seconds); ``requests`` are the engine requests that it should be."""

    requests: int
    tokens: int
    due: float
    ended: float
    error: str


@dataclass(frozen=True)
class PointLoad:
    """A point's answers in the order of their end; what counts is between ``since`` and ``until``."""

    answers: list[TextAnswer]
    began: float
    since: float
    until: float
    cpu: float

    @classmethod
    def read(cls, file: Path) -> PointLoad:
        """Return what a process wrote."""
        fields: dict[str, Any] = json.loads(file.read_text())
        answers = [TextAnswer(*answer) for answer in fields.pop("answers")]
        return cls(answers, **fields)


class LoadDriver:
    """Sends one point's texts and keeps the answers."""

    def __init__(self, plan: PointPlan, texts: Iterator[OriginText], send: Send) -> None:
        self._plan = plan
        self._texts = texts
        self._send = send
        self._answers: list[TextAnswer] = []
        self._answered = asyncio.Condition()

    async def run(self) -> PointLoad:
        """Send until it is over, wait for the last answer."""
        cpu, began = time.process_time(), time.monotonic()
        plan, stop = self._plan, asyncio.Event()
        if plan.concurrency:
            loop = asyncio.create_task(closed_loop(plan.concurrency, self._ask, stop))
            await self._wait_for(plan.concurrency, plan.warm_up)
        else:
            pauses = poisson(plan.rate, Random(plan.first))  # noqa: S311 - a schedule, no secret
            loop = asyncio.create_task(open_loop(pauses, self._ask, stop))
            await asyncio.sleep(plan.warm_up)
        since, before = time.monotonic(), len(self._answers)
        await asyncio.sleep(plan.seconds)
        await self._wait_for(before + plan.concurrency, MAX_EXTENSION_SECONDS)
        until = time.monotonic()
        stop.set()
        await loop
        return PointLoad(self._answers, began, since, until, time.process_time() - cpu)

    async def _wait_for(self, answers: int, seconds: float) -> None:
        """Wait until there were so many answers, no longer than the seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds), self._answered:
                await self._answered.wait_for(lambda: len(self._answers) >= answers)

    async def _ask(self, due: float) -> None:
        text = next(self._texts)
        error = await self._send(text)
        tokens = sum(len(ids) for ids, _ in text.asks)
        self._answers.append(TextAnswer(len(text.asks), tokens, due, time.monotonic(), error))
        async with self._answered:
            self._answered.notify_all()


async def serve_plans(texts: Path, sender: Callable[[PointPlan], AbstractAsyncContextManager[Send]]) -> None:
    """Do the plans that come as lines on stdin, one after the other, until there are no more."""
    pool = TextPool(read(texts))
    while line := await asyncio.to_thread(sys.stdin.readline):
        plan = PointPlan(**json.loads(line))
        async with sender(plan) as send:
            load = await LoadDriver(plan, pool.texts(plan.kind, plan.first), send).run()
        await asyncio.to_thread(Path(plan.out).write_text, json.dumps(asdict(load)))
        print(DONE, flush=True)


class PlanProcess:
    """A process that does plans, as its starter sees it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    async def ready(self) -> None:
        """Wait until its engine runs."""
        await self._line(READY)

    async def run(self, plan: PointPlan) -> PointLoad:
        """Have it do a plan; return the answers."""
        if self._process.stdin is None:
            raise RuntimeError("the process was started without pipes")
        self._process.stdin.write(f"{json.dumps(asdict(plan))}\n".encode())
        await self._line(DONE)
        return await asyncio.to_thread(PointLoad.read, Path(plan.out))

    async def _line(self, expected: str) -> None:
        async for line in _lines(self._process.stdout):
            if line == expected:
                return
        raise RuntimeError(f"a process ended that should have written {expected!r}")


async def _lines(stream: asyncio.StreamReader | None) -> AsyncGenerator[str]:
    while stream is not None and (line := await stream.readline()):
        yield line.decode(errors="replace").strip()
