"""Turns of an event loop with little short work in each."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final

# Well below the longest stall that is promised (docs/security.md), because works of one turn are only estimated.
TURN_SECONDS: Final = 0.015


class LoopTurns:
    """Turns for short work, of which many requests at once bring much.

    A turn has works of ``TURN_SECONDS`` together, or one longer work alone; who comes first is served first. Used on one
    event loop.
    """

    def __init__(self) -> None:
        self._seconds = 0.0
        self._waiting: deque[tuple[float, asyncio.Future[None]]] = deque()

    async def take(self, seconds: float) -> None:
        """Wait for a turn with place for this much work."""
        if self._has_place(seconds) and not self._waiting:
            self._add(seconds)
            return
        slot = asyncio.get_running_loop().create_future()
        self._waiting.append((seconds, slot))
        await slot

    def _has_place(self, seconds: float) -> bool:
        return not self._seconds or self._seconds + seconds <= TURN_SECONDS

    def _add(self, seconds: float) -> None:
        if not self._seconds:
            asyncio.get_running_loop().call_soon(self._next)
        self._seconds += seconds

    def _next(self) -> None:
        self._seconds = 0.0
        while self._waiting and self._has_place(self._waiting[0][0]):
            seconds, slot = self._waiting.popleft()
            if not slot.done():  # else its request was cancelled
                self._add(seconds)
                slot.set_result(None)
