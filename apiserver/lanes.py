"""BatchShare: how much of an engine's running batch long texts may hold, so that short ones keep their pace."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

# A text of more segments than this is long: it waits for its share, and its segments queue behind everybody else's.
SHORT_SEGMENTS: Final = 8
# Long texts together run at most one in so many of the requests that the engine runs at once. A step's time grows with
# its batch, so this is what a short text feels of a long one (measured: benchmarks/README.md, "Long texts").
LONG_SHARE: Final = 4
# vLLM takes lower numbers first.
CANARY_PRIORITY: Final = -1
SHORT_PRIORITY: Final = 0
LONG_PRIORITY: Final = 1


class BatchShare:
    """Room for the long texts' requests in one engine's batch; mutable state: who holds it, who waits. One event loop.

    The text that came first is served first: shared out evenly, ten long texts would all be done at the same late time,
    or all be given up at the same deadline.
    """

    def __init__(self, max_num_seqs: int) -> None:
        """Share out a batch of that many requests."""
        self.width = max(1, max_num_seqs // LONG_SHARE)
        self._free = self.width
        # At most as many as long texts have workers: twice ``width`` for each.
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._numbers = count()

    def __repr__(self) -> str:
        """Show how full it is."""
        return f"<BatchShare {self.width - self._free}/{self.width} waiting={len(self._waiting)}>"

    @asynccontextmanager
    async def hold(self, priority: int, turn: int) -> AsyncGenerator[None]:
        """Hold one place while the block lasts; only long texts ever wait, the lowest ``turn`` the least."""
        if priority < LONG_PRIORITY:
            yield
            return
        await self._take(turn)
        try:
            yield
        finally:
            self._give()

    async def _take(self, turn: int) -> None:
        if self._free:
            self._free -= 1
            return
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heappush(self._waiting, (turn, next(self._numbers), place))
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():  # it was given in this very moment
                self._give()
            raise

    def _give(self) -> None:
        """Hand a place on to who is next, or free it."""
        while self._waiting:
            _, _, place = heappop(self._waiting)
            if not place.done():
                place.set_result(None)
                return
        self._free += 1
