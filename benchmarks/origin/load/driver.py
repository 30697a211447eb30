"""The load of one point, closed or open, whatever takes the texts; and the processes that send it, told by lines on stdin."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from benchmarks.origin.workload.text_file import Text, TextPool, read

# Takes a text; returns '' or what went wrong.
Send = Callable[[Text], Awaitable[str]]

# What a process writes when it has a plan's answers.
DONE: Final = "origin: done"
# Longer than any time-out of the programs.
PATIENCE_SECONDS: Final = 60.0
# Clients have machines of their own: here they come before the servers, where that is allowed.
NICENESS: Final = -10
# A closed loop is warm when there were as many answers as clients, an open one after this.
OPEN_WARM_UP_SECONDS: Final = 1.0
# A closed loop counts until there were as many answers again, so much longer at most: else a slow design would be judged by few.
MOST_BEYOND_SECONDS: Final = 7.5


@dataclass(frozen=True)
class Plan:
    """One point: ``concurrency`` in flight (closed), or ``rate`` a second at random times (open), for ``seconds`` when warm.

    ``first`` is the number of the first text of the kind; ``warm_up`` the time until it counts, seconds: of a closed loop the longest.
    ``openai`` says that a text goes to vLLM's own server, ``to_the_last`` that it must make all tokens that an answer may have.
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


class Answer(NamedTuple):
    """One text and what came of it, monotonic seconds; ``requests`` are the engine requests that it should be."""

    requests: int
    tokens: int
    due: float
    ended: float
    error: str


@dataclass(frozen=True)
class PointLoad:
    """A point's answers in the order of their end; what counts lies between ``since`` and ``until``."""

    answers: list[Answer]
    began: float
    since: float
    until: float
    cpu: float

    @classmethod
    def read(cls, file: Path) -> PointLoad:
        """Return what a process wrote."""
        fields: dict[str, Any] = json.loads(file.read_text())
        answers = [Answer(*answer) for answer in fields.pop("answers")]
        return cls(answers, **fields)


class LoadDriver:
    """Sends one point's texts; mutable state: what came."""

    def __init__(self, plan: Plan, texts: Iterator[Text], send: Send) -> None:
        self._plan = plan
        self._texts = texts
        self._send = send
        self._answers: list[Answer] = []
        self._goal = 0
        self._there = asyncio.Event()

    async def run(self) -> PointLoad:
        """Send until it is over, wait for the last answer."""
        cpu, began = time.process_time(), time.monotonic()
        plan = self._plan
        over = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            if plan.concurrency:
                for _ in range(plan.concurrency):
                    group.create_task(self._ask_on(over))
            else:
                group.create_task(self._ask_at_times(over, group))
            if plan.concurrency:
                await self._answered(plan.concurrency, plan.warm_up)
            else:
                await asyncio.sleep(plan.warm_up)
            since, before = time.monotonic(), len(self._answers)
            await asyncio.sleep(plan.seconds)
            await self._answered(before + plan.concurrency, MOST_BEYOND_SECONDS)
            until = time.monotonic()
            over.set()
        return PointLoad(self._answers, began, since, until, time.process_time() - cpu)

    async def _answered(self, goal: int, seconds: float) -> None:
        """Wait until there were so many answers, no longer than the seconds."""
        if len(self._answers) >= goal:
            return
        self._goal = goal
        self._there.clear()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._there.wait(), seconds)

    async def _ask_on(self, over: asyncio.Event) -> None:
        while not over.is_set():
            await self._ask(next(self._texts), time.monotonic())

    async def _ask_at_times(self, over: asyncio.Event, group: asyncio.TaskGroup) -> None:
        rng = random.Random(self._plan.first)  # noqa: S311 - a schedule, no secret
        due = time.monotonic()
        while not over.is_set():
            due += rng.expovariate(self._plan.rate)
            await asyncio.sleep(due - time.monotonic())
            group.create_task(self._ask(next(self._texts), due))

    async def _ask(self, row: Text, due: float) -> None:
        error = await self._send(row)
        tokens = sum(len(ids) for ids, _ in row.asks)
        self._answers.append(Answer(len(row.asks), tokens, due, time.monotonic(), error))
        if len(self._answers) >= self._goal:
            self._there.set()


async def serve_plans(texts: Path, sender: Callable[[Plan], AbstractAsyncContextManager[Send]]) -> None:
    """Do the plans that come as lines on stdin, one after the other, until there are no more."""
    pool = TextPool(read(texts))
    while line := await asyncio.to_thread(sys.stdin.readline):
        plan = Plan(**json.loads(line))
        async with sender(plan) as send:
            load = await LoadDriver(plan, pool.texts(plan.kind, plan.first), send).run()
        await asyncio.to_thread(Path(plan.out).write_text, json.dumps(asdict(load)))
        print(DONE, flush=True)


def raise_priority() -> None:
    """Go before the servers, where that is allowed."""
    with contextlib.suppress(PermissionError):
        os.nice(NICENESS)


async def run_plan(process: asyncio.subprocess.Process, plan: Plan) -> PointLoad:
    """Have a process do a plan, and return what came."""
    if process.stdin is None or process.stdout is None:
        raise RuntimeError("the process was started without pipes")
    process.stdin.write(f"{json.dumps(asdict(plan))}\n".encode())
    async for line in lines(process.stdout):
        if line == DONE:
            return await asyncio.to_thread(PointLoad.read, Path(plan.out))
    raise RuntimeError("a sending process ended")


async def lines(stream: asyncio.StreamReader) -> AsyncGenerator[str]:
    """Yield a stream's lines."""
    while line := await stream.readline():
        yield line.decode(errors="replace").strip()
