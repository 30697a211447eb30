"""A cache that waits for Redis on a machine with other work, and a coalescer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest

from proxy.cache import redis_cache
from tests.proxy.cache.coalescers import CoalescerHarness
from tests.support.waiting import wait_until


@pytest.fixture
def patient_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give Redis seconds to answer: what comes late is a miss, and a test of hits needs hits."""
    monkeypatch.setattr(redis_cache, "READ_SECONDS", 5.0)
    monkeypatch.setattr(redis_cache, "WRITE_SECONDS", 5.0)


@pytest.fixture
async def harness() -> AsyncGenerator[CoalescerHarness]:
    """At the end nothing is left."""
    running = CoalescerHarness()
    async with running.coalescer.closing():
        yield running
        for task in running.tasks:
            task.cancel()
        await asyncio.gather(*running.tasks, return_exceptions=True)
    await wait_until(lambda: not len(running.coalescer), 3, "no computation is left")
