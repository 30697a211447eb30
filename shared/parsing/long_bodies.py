"""Long bodies and texts: read in one thread, callers in turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from shared.runtime.turns import FairThread, LoopTurns, Steps, finish

T = TypeVar("T")

# Bodies that need no turn.
FREE_BYTES: Final = 1024
# Shorter bodies take at most 8 ms of the event loop, which is the slowest form's.
INLINE_BYTES: Final = 32_768
_SECONDS_PER_BYTE: Final = 0.008 / INLINE_BYTES


class LongBodies:
    """Parses long bodies beside the event loop, and others in its turns.

    Used on one event loop. There is one thread, because each step of a parser keeps the interpreter's lock, for up to 30 ms.
    """

    def __init__(self, turns: LoopTurns) -> None:
        self._turns = turns
        self._thread = FairThread("long bodies")

    async def parse(self, caller: str, size: int, parse: Callable[[], T]) -> T:
        """Parse such a body at its turn; the shortest at once."""
        if await self._is_short(size):
            return parse()
        return await self._thread.run(caller, parse)

    async def parse_steps(self, caller: str, size: int, steps: Steps[T]) -> T:
        """Parse such a body in steps, each at its turn."""
        if await self._is_short(size):
            return finish(steps)
        return await self._thread.run_steps(caller, steps)

    async def read(self, caller: str, work: Callable[[], T]) -> T:
        """Return the result of work on a long text, at its turn."""
        return await self._thread.run(caller, work)

    async def _is_short(self, size: int) -> bool:
        """Return whether the loop does the work, at its turn."""
        if FREE_BYTES < size <= INLINE_BYTES:
            await self._turns.take(size * _SECONDS_PER_BYTE)
        return size <= INLINE_BYTES
