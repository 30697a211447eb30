"""Background loops: nothing a tick does ends them, and their age is told."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from random import Random

import pytest

from shared.runtime.background import STALE_FLOOR_SECONDS, Loop, running
from tests.support.waiting import wait_until


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def loop_of(
    tick: Callable[[], Awaitable[None]], clock: Callable[[], float] | None = None, interval: float = 0.01
) -> Loop:
    return Loop("test", interval, tick, clock or asyncio.get_running_loop().time, Random(1))  # noqa: S311 - jitter, not a secret


class _LibraryError(Exception):
    pass


@pytest.mark.parametrize(
    "error", [_LibraryError(), TimeoutError(), asyncio.CancelledError(), ExceptionGroup("x", [OSError()])]
)
async def test_loop_survives_failing_ticks(error: BaseException) -> None:
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        ticks += 1
        raise error

    async with running(loop_of(tick)):
        await wait_until(lambda: ticks >= 3, 3, "ticks")


async def test_loop_logs_first_failure_and_recovery(caplog: pytest.LogCaptureFixture) -> None:
    wrong = True

    async def tick() -> None:
        if wrong:
            raise _LibraryError

    loop = loop_of(tick)
    with caplog.at_level(logging.INFO):
        for _ in range(3):
            await loop.tick_once()
        assert loop.failures == 3
        wrong = False
        await loop.tick_once()
    assert [record.getMessage() for record in caplog.records] == ["loop failed", "loop recovered"]
    assert caplog.records[0].exc_info is not None
    assert loop.failures == 0


async def test_loop_is_stale_after_failing_or_hanging() -> None:
    clock = Clock()

    async def failing() -> None:
        raise _LibraryError

    loop = loop_of(failing, clock, interval=1)
    clock.now = STALE_FLOOR_SECONDS
    await loop.tick_once()
    assert not loop.is_stale()
    clock.now += 0.1
    assert loop.is_stale()
    assert loop.age() == pytest.approx(STALE_FLOOR_SECONDS + 0.1)


async def test_loop_age_resets_after_a_good_tick() -> None:
    clock = Clock()

    async def good() -> None:
        clock.now += 1

    loop = loop_of(good, clock, interval=1)
    clock.now = 100
    await loop.tick_once()
    assert (loop.age(), loop.is_stale()) == (0, False)


async def test_loop_is_stale_only_after_ten_intervals() -> None:
    clock = Clock()
    loop = loop_of(asyncio.sleep, clock, interval=60)  # type: ignore[arg-type]
    clock.now = 599
    assert not loop.is_stale()
    clock.now = 601
    assert loop.is_stale()


async def test_running_cancels_loops_in_mid_tick() -> None:
    ticks: list[asyncio.Task[None] | None] = []

    async def endless() -> None:
        ticks.append(asyncio.current_task())
        await asyncio.Event().wait()

    async with running(loop_of(endless), loop_of(endless)):
        await wait_until(lambda: len(ticks) == 2, 60)
    assert [tick is not None and tick.done() for tick in ticks] == [True, True]


async def test_running_ends_a_tick_that_swallows_cancellation() -> None:
    begun = asyncio.Event()

    async def swallowing() -> None:
        begun.set()
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()

    async with asyncio.timeout(5):
        async with running(loop_of(swallowing)):
            await begun.wait()


async def test_running_ends_loops_after_an_error_in_the_block() -> None:
    async def tick() -> None:
        pass

    before = asyncio.all_tasks()
    loop = loop_of(tick)
    with pytest.raises(_LibraryError):
        async with running(loop):
            raise _LibraryError
    assert loop.name not in {task.get_name() for task in asyncio.all_tasks() - before}


async def test_overrunning_tick_leaves_time_to_the_event_loop() -> None:
    ticks = 0
    clock = Clock()

    async def tick() -> None:
        nonlocal ticks
        ticks += 1
        clock.now += 10

    async with running(loop_of(tick, clock)):
        for _ in range(100):
            await asyncio.sleep(0)
        assert ticks <= 1
