"""Record of what ``/health`` said while a row ran."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

LOOK_SECONDS = 1.0
NO_ANSWER = "no answer"
MAX_SHOWN = 8


class HealthWatch:
    """Status and ready replicas by time, one look a second."""

    def __init__(self, look: Callable[[], Awaitable[dict[str, Any]]]) -> None:
        self._look = look
        self.seen: list[tuple[float, str]] = []

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[HealthWatch]:
        """Look while the block lasts."""
        task = asyncio.create_task(self._watch())
        try:
            yield self
        finally:
            task.cancel()
            await asyncio.wait({task})
            self.seen.append((time.monotonic(), ""))

    async def _watch(self) -> None:
        while True:
            self.seen.append((time.monotonic(), summary(await self._look())))
            await asyncio.sleep(LOOK_SECONDS)


def summary(health: dict[str, Any]) -> str:
    """Say the status, and the ready ones of the replicas that the proxy knows."""
    if not health:
        return NO_ANSWER
    replicas: list[dict[str, Any]] = health.get("replicas", [])
    ready = sum(replica.get("state") == "ready" for replica in replicas)
    return f"{health.get('status', '?')} {ready}/{len(replicas)}"


def history(seen: list[tuple[float, str]]) -> str:
    """Return the statuses in their order, each with its seconds; the last look ends the one before."""
    spans: list[list[Any]] = []
    for (at, status), (until, _) in pairwise(seen):
        if spans and spans[-1][0] == status:
            spans[-1][1] += until - at
        else:
            spans.append([status, until - at])
    shown = [f"{status} {seconds:.0f} s" for status, seconds in spans[:MAX_SHOWN]]
    return " → ".join([*shown, "…"] if len(spans) > MAX_SHOWN else shown)
