"""Load loops: closed and open ones, whatever sends the requests."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator
from random import Random
from typing import NamedTuple

# Sends a request that was due at that monotonic second, and returns when its response is there.
Send = Callable[[float], Awaitable[object]]
# Clients have machines of their own: here they come before the servers, where that is allowed.
NICENESS = -10


class Sample(NamedTuple):
    """One request and its response; times are monotonic seconds.

    ``units`` is the cost of its text, ``due`` when it should have been sent. ``status`` 0 is no response. ``code`` is the problem's code, the client's error, or what
    is wrong with a translation; empty for a right one. ``retry_after`` is -1 without the header; ``attempt`` is 2 for a request that
    was refused and sent again when ``Retry-After`` said.
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

    async def one(due: float) -> None:
        await send(due)

    due = time.monotonic()
    async with asyncio.TaskGroup() as group:
        while not stop.is_set():
            group.create_task(one(due))
            due += next(pauses)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, due - time.monotonic())):
                    await stop.wait()


def raise_priority() -> None:
    """Put this process before the servers, where that is allowed."""
    with contextlib.suppress(PermissionError):
        os.nice(NICENESS)
