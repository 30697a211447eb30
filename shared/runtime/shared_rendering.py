"""SharedRendering: one rendering of an answer for all who ask meanwhile."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from shared.runtime.turns import FairThread

T = TypeVar("T")

# After a rendering the next one waits so many times its seconds: all together take a tenth of a core.
PAUSE_FACTOR: Final = 9.0
# The longest wait, also in a fleet whose renderings take longer.
MAX_PAUSE_SECONDS: Final = 1.0


def pause_after(seconds: float) -> float:
    """Return the pause after a rendering that took so long."""
    return min(MAX_PAUSE_SECONDS, PAUSE_FACTOR * seconds)


class SharedRendering(Generic[T]):
    """Renderings of one answer, one after the other.

    They have a thread of their own. Whoever asks while one is made, or in the pause after it, shares the next: no answer is older than its request.
    ``clock`` is monotonic. Used on one event loop; what renders must bear that the loop changes what it reads.
    """

    def __init__(self, name: str, clock: Callable[[], float]) -> None:
        self._thread = FairThread(name)
        self._clock = clock
        self._turn = asyncio.Lock()
        self._due_at = -math.inf
        self._next: asyncio.Task[T] | None = None

    async def get(self, render: Callable[[], T]) -> T:
        """Return the next rendering; ``render`` makes it unless another request's does."""
        if self._next is None or self._next.done():  # done: it was cancelled before it began
            self._next = asyncio.create_task(self._render(render))
        return await asyncio.shield(self._next)  # whose client leaves, does not take it from others

    async def _render(self, render: Callable[[], T]) -> T:
        async with self._turn:
            if (pause := self._due_at - self._clock()) > 0:
                await asyncio.sleep(pause)
            self._next = None  # it shows what is true from here on, so later requests wait for another
            started = self._clock()
            try:
                return await self._thread.run("", render)
            finally:
                ended = self._clock()
                self._due_at = ended + pause_after(ended - started)
