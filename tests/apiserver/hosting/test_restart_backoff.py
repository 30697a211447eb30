"""When an engine has stalled, when it starts next, and in how many seconds it should serve."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from random import Random

import pytest

from apiserver.catalog.model_entry import ModelEntry
from apiserver.hosting.restart_backoff import (
    HEALTHY_AFTER_SECONDS,
    MAX_BACKOFF_SECONDS,
    MAX_RETRY_SECONDS,
    RestartBackoff,
)
from apiserver.hosting.stall_detector import MAX_SECONDS_PER_CHECK, StallDetector
from tests.support.clock import HandClock
from tests.support.scripted_engine import ScriptedEngine

ENTRY = ModelEntry.model_validate({"name": "m", "path": "o/m", "pairs": ["en-de"], "prompt": "demo-tags"})
LOOK = 0.1


class Watched:
    def __init__(self) -> None:
        self.now = 100.0
        self.engine = ScriptedEngine(ENTRY)
        self.pulse = StallDetector(self.engine, lambda: self.now)

    async def watch(self, seconds: float) -> float:
        """Look every tenth of a second; return the silence."""
        for _ in range(round(seconds / LOOK)):
            self.now += LOOK
            self.pulse.update()
            for _ in range(10):  # a ping goes and comes
                await asyncio.sleep(0)
        return self.pulse.silence


@pytest.fixture
async def watched() -> AsyncGenerator[Watched]:
    watched = Watched()
    yield watched
    watched.pulse.close()


async def test_idle_engine_that_answers_is_not_silent(watched: Watched) -> None:
    for _ in range(50):
        assert await watched.watch(LOOK) <= 2 * LOOK


async def test_idle_engine_that_hangs_is_silent(watched: Watched) -> None:
    watched.engine.gate.clear()
    assert await watched.watch(5) == pytest.approx(5, abs=0.5)
    watched.engine.gate.set()
    assert await watched.watch(2 * LOOK) == 0


async def test_busy_engine_without_steps_is_silent(watched: Watched) -> None:
    watched.engine.running = 1
    assert await watched.watch(5) == pytest.approx(5, abs=0.2)
    watched.engine.steps += 1
    assert await watched.watch(LOOK) == 0


async def test_cancelled_work_does_not_end_the_silence(watched: Watched) -> None:
    watched.engine.gate.clear()
    for _ in range(5):
        watched.engine.running = 1
        await watched.watch(0.5)
        watched.engine.running = 0
        await watched.watch(0.5)
    assert watched.pulse.silence == pytest.approx(5, abs=0.5)


async def test_late_check_counts_for_little(watched: Watched) -> None:
    watched.engine.running = 1
    watched.now += 100
    assert watched.pulse.update() == MAX_SECONDS_PER_CHECK


async def test_ping_of_a_dead_engine_raises_nothing(watched: Watched) -> None:
    watched.engine.die()
    assert await watched.watch(3) <= 0.2


class Steady(Random):  # noqa: S311 - jitter, no secret
    def uniform(self, a: float, b: float) -> float:
        return (a + b) / 2


def restarts_of(clock: HandClock, *, took: float | None = None) -> RestartBackoff:
    """Return the starts of a model whose first one took that long."""
    restarts = RestartBackoff(1.0, clock, Steady())
    if took is not None:
        restarts.start_begun()
        clock.now += took
        restarts.start_ended(ready=True)
    return restarts


def test_backoff_doubles_up_to_its_limit() -> None:
    restarts = restarts_of(HandClock())
    assert [restarts.schedule() for _ in range(8)] == [1, 2, 4, 8, 16, *[MAX_BACKOFF_SECONDS] * 3]


def test_first_start_is_due_at_once_and_others_after_a_pause() -> None:
    clock = HandClock()
    restarts = restarts_of(clock)
    assert restarts.is_due
    restarts.schedule()
    assert not restarts.is_due
    clock.now += 1
    assert restarts.is_due


@pytest.mark.parametrize(("lived", "pause"), [(HEALTHY_AFTER_SECONDS - 1, 2), (HEALTHY_AFTER_SECONDS + 1, 1)])
def test_backoff_resets_only_after_a_long_healthy_time(lived: float, pause: float) -> None:
    clock = HandClock()
    restarts = restarts_of(clock)
    restarts.schedule()
    restarts.start_begun()
    restarts.start_ended(ready=True)
    clock.now += lived
    assert restarts.schedule() == pause


def test_seconds_left_is_unknown_before_a_first_start() -> None:
    clock = HandClock()
    restarts = restarts_of(clock)
    assert restarts.seconds_left() is None
    restarts.start_begun()
    clock.now += 3
    restarts.start_ended(ready=False)
    assert restarts.seconds_left() is None


def test_seconds_left_adds_pause_and_last_start() -> None:
    clock = HandClock()
    restarts = restarts_of(clock, took=10.2)
    assert restarts.seconds_left() == 12, "it died in this moment: 1 s and 10.2 s"
    restarts.schedule()
    clock.now += 0.5
    assert restarts.seconds_left() == 11
    clock.now += 5
    assert restarts.seconds_left() == 11, "due, but another engine is starting"
    restarts.start_begun()
    clock.now += 4
    assert restarts.seconds_left() == 7
    clock.now += 100
    assert restarts.seconds_left() == 1


def test_seconds_left_is_bounded() -> None:
    restarts = restarts_of(HandClock(), took=1000)
    restarts.schedule()
    assert restarts.seconds_left() == MAX_RETRY_SECONDS
