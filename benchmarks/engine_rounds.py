"""What the engine benchmarks share: rounds of texts and what they cost, the engine's processes and this one apart."""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Awaitable, Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from statistics import median
from typing import Final, NamedTuple

import psutil

# In hand at once: more than any of the engines runs in one batch.
CONCURRENCY: Final = 64
# A round takes seconds, on a slow CPU minutes; one that takes longer hangs.
MOST_ROUND_SECONDS: Final = 600.0


class Round(NamedTuple):
    """One engine's part of one round; seconds, CPU seconds of EngineCore and of this process."""

    texts: int
    passed: float
    engine: float
    front: float
    latencies: Sequence[float]

    @property
    def rate(self) -> float:
        """Texts per second."""
        return self.texts / self.passed

    @property
    def engine_ms(self) -> float:
        """EngineCore's CPU for a text, milliseconds."""
        return 1000 * self.engine / self.texts

    @property
    def front_ms(self) -> float:
        """This process's CPU for a text, milliseconds."""
        return 1000 * self.front / self.texts


@contextmanager
def new_children() -> Generator[list[psutil.Process]]:
    """Yield a list that holds, after the block, the processes that it has started."""
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    found: list[psutil.Process] = []
    yield found
    found += [child for child in psutil.Process().children(recursive=True) if child.pid not in before]


def cpu_seconds(processes: Sequence[psutil.Process]) -> float:
    """Return what the processes have used so far."""
    return sum(times.user + times.system for times in (process.cpu_times() for process in processes))


async def all_asked(count: int, ask: Callable[[int], Awaitable[None]], core: Sequence[psutil.Process]) -> Round:
    """Ask for texts 0 to ``count``, ``CONCURRENCY`` in hand at once, and say what it took; ``core`` is the engine's.

    Raises:
        TimeoutError: it takes longer than ``MOST_ROUND_SECONDS``.
        ExceptionGroup: asking for a text failed; nobody asks any more then.
    """
    numbers = iter(range(count))
    latencies: list[float] = []

    async def client() -> None:
        for number in numbers:
            began = time.monotonic()
            await ask(number)
            latencies.append(time.monotonic() - began)

    began, engine, front = time.monotonic(), cpu_seconds(core), time.process_time()
    async with asyncio.timeout(MOST_ROUND_SECONDS), asyncio.TaskGroup() as group:
        for _ in range(CONCURRENCY):
            group.create_task(client())
    passed = time.monotonic() - began
    return Round(count, passed, cpu_seconds(core) - engine, time.process_time() - front, latencies)


def at_least_one(value: str) -> int:
    """Read a number of rounds or texts.

    Raises:
        ArgumentTypeError: it is less than 1.
    """
    if (number := int(value)) < 1:
        raise argparse.ArgumentTypeError(f"{number} is less than 1")
    return number


def some_of(table: Iterable[str]) -> Callable[[str], list[str]]:
    """Return what reads comma-separated names of a table.

    It raises ArgumentTypeError: a name is none of them.
    """
    known = list(table)

    def read(value: str) -> list[str]:
        found = value.split(",")
        if unknown := sorted(set(found).difference(known)):
            raise argparse.ArgumentTypeError(f"there is no {', '.join(unknown)}; there are {', '.join(known)}")
        return found

    return read


def spread(values: Sequence[float], digits: int) -> str:
    """Return the median with the least and the most of the values."""
    return f"{median(values):.{digits}f} ({min(values):.{digits}f}–{max(values):.{digits}f})"


def ratios(own: Sequence[float], others: Sequence[float]) -> list[float]:
    """Return each round's value as a part of the other one's of the same round."""
    return [mine / other for mine, other in zip(own, others, strict=True)]
