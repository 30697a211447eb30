"""Which silence of an engine counts, on an injected clock."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest

from apiserver.catalog.model_entry import ModelEntry
from apiserver.hosting.stall_detector import MAX_SECONDS_PER_CHECK, StallDetector
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
