"""The clock of the tests' bounds: a pause counts for little, what is waited for or computed counts whole."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from tests.waiting import MOST_PER_LOOK, Awake, wait_until


async def test_time_passes_and_a_wait_in_vain_ends() -> None:
    began = time.monotonic()
    async with asyncio.timeout(20):
        with Awake() as awake:
            await wait_until(lambda: awake.seconds >= 0.2, 1)
        with pytest.raises(AssertionError, match=r"not within 0\.1 s: nothing; last value: 0"):
            await wait_until(lambda: 0, 0.1, "nothing")
    assert time.monotonic() - began >= 0.3


async def test_a_pause_counts_for_little() -> None:
    with Awake() as awake:
        threading.Event().wait(0.4)  # as if the machine stood still
    assert awake.seconds < 3 * MOST_PER_LOOK


async def test_what_keeps_the_event_loop_busy_is_no_pause() -> None:
    with Awake() as awake:
        until = time.process_time() + 0.2
        while time.process_time() < until:
            pass
    assert awake.seconds >= 0.2
