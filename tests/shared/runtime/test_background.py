"""Background work: loops outlive errors, tasks end together, pauses grow, starts are known."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from random import Random

import pytest

from shared.runtime.background import (
    STALE_FLOOR_SECONDS,
    ExponentialBackoff,
    Loop,
    StartupCheck,
    gather_results,
    in_daemon_thread,
    running,
)
from tests.support.clock import HandClock
from tests.support.waiting import wait_until


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
    clock = HandClock(0.0)

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
    clock = HandClock(0.0)

    async def good() -> None:
        clock.now += 1

    loop = loop_of(good, clock, interval=1)
    clock.now = 100
    await loop.tick_once()
    assert (loop.age(), loop.is_stale()) == (0, False)


async def test_loop_is_stale_only_after_ten_intervals() -> None:
    clock = HandClock(0.0)
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
    clock = HandClock(0.0)

    async def tick() -> None:
        nonlocal ticks
        ticks += 1
        clock.now += 10

    async with running(loop_of(tick, clock)):
        for _ in range(100):
            await asyncio.sleep(0)
        assert ticks <= 1


async def _value(number: int) -> int:
    await asyncio.sleep(0)
    return number


async def test_gather_results_keeps_the_order() -> None:
    assert await gather_results([_value(1)]) == [1]
    assert await gather_results(map(_value, range(4))) == [0, 1, 2, 3]


async def test_gather_results_raises_first_error_and_cancels_the_rest() -> None:
    cancelled = asyncio.Event()

    async def endless() -> int:
        try:
            return await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    async def failing() -> int:
        await asyncio.sleep(0)
        raise LookupError

    with pytest.raises(LookupError):
        await gather_results([endless(), failing()])
    assert cancelled.is_set()


async def test_result_and_error_of_the_thread_arrive() -> None:
    undone: list[int] = []
    assert await in_daemon_thread(lambda: 7, undo=undone.append) == 7

    def fails() -> int:
        raise OSError("no")

    with pytest.raises(OSError, match="no"):
        await in_daemon_thread(fails, undo=undone.append)
    assert undone == []


async def test_unawaited_result_is_undone() -> None:
    go, undone = threading.Event(), threading.Event()
    got: list[int] = []

    def work() -> int:
        assert go.wait(5)
        return 7

    def undo(result: int) -> None:
        got.append(result)
        undone.set()

    task = asyncio.create_task(in_daemon_thread(work, undo=undo))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    go.set()
    assert await asyncio.to_thread(undone.wait, 5)
    assert got == [7]


async def test_result_during_cancellation_is_undone() -> None:
    finished = threading.Event()
    got: list[int] = []

    def work() -> int:
        finished.set()
        return 7

    task = asyncio.create_task(in_daemon_thread(work, undo=got.append))
    await asyncio.sleep(0)
    assert finished.wait(5)  # blocks the loop: the result is there, but the task has not heard of it
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await wait_until(lambda: got == [7], 5)


async def test_unawaited_error_is_dropped() -> None:
    go = threading.Event()

    def work() -> int:
        assert go.wait(5)
        raise OSError("late")

    task = asyncio.create_task(in_daemon_thread(work, undo=lambda _: None))
    await asyncio.sleep(0.05)
    task.cancel()
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_pause_doubles_up_to_the_longest() -> None:
    backoff = ExponentialBackoff(1.0, 10.0, 60.0)
    assert [backoff.end(None) for _ in range(6)] == [1, 2, 4, 8, 10, 10]
    assert backoff.ends == 6


def test_pause_stays_bounded_after_very_many_ends() -> None:
    backoff = ExponentialBackoff(1.0, 10.0, 60.0)
    assert {backoff.end(None) for _ in range(5000)} == {1, 2, 4, 8, 10}


@pytest.mark.parametrize(("served", "pause", "ends"), [(None, 4, 3), (60.0, 4, 3), (60.1, 1, 1)])
def test_only_a_healthy_run_starts_over(served: float | None, pause: float, ends: int) -> None:
    backoff = ExponentialBackoff(1.0, 10.0, 60.0)
    backoff.end(None)
    backoff.end(None)
    assert backoff.next_pause(served) == pause
    assert backoff.end(served) == pause
    assert backoff.ends == ends


def test_next_pause_changes_nothing() -> None:
    backoff = ExponentialBackoff(1.0, 10.0, 60.0)
    assert [backoff.next_pause(None) for _ in range(3)] == [1, 1, 1]
    assert backoff.ends == 0


def test_first_pause_may_be_longer_than_the_longest() -> None:
    backoff = ExponentialBackoff(20.0, 10.0, 60.0)
    assert [backoff.end(None) for _ in range(3)] == [20, 10, 10]


def test_startup_without_pairs_is_not_complete() -> None:
    check = StartupCheck()
    check.observe({})
    assert not check.complete
    assert check.missing == ()


def test_startup_names_pairs_that_were_never_ready() -> None:
    check = StartupCheck()
    check.observe({"en-fr": False, "en-de": True, "de-en": False})
    assert (check.complete, check.missing) == (False, ("de-en", "en-fr"))


def test_startup_adds_up_pairs_that_were_ready_at_times() -> None:
    check = StartupCheck()
    check.observe({"en-de": True, "de-en": False})
    check.observe({"en-de": False, "de-en": True})
    assert (check.complete, check.missing) == (True, ())


def test_startup_stays_complete() -> None:
    check = StartupCheck()
    check.observe({"en-de": True})
    check.observe({"en-de": False, "en-fr": False})
    assert (check.complete, check.missing) == (True, ())


def test_startup_does_not_wait_for_pairs_that_left() -> None:
    """A replica that was removed before it was ready."""
    check = StartupCheck()
    check.observe({"en-de": True, "en-fr": False})
    check.observe({"en-de": True})
    assert check.complete
