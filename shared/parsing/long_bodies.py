"""Long bodies: parsed in one thread, callers in turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from shared.runtime.fair_queue import FairThread

T = TypeVar("T")

# Shorter bodies take at most 4 ms of the event loop, which is the slowest form's.
INLINE_BYTES: Final = 32_768


class LongBodies:
    """Parses long bodies beside the event loop; used on one event loop.

    There is one thread, because each step of a parser keeps the interpreter's lock, for up to 30 ms.
    """

    def __init__(self) -> None:
        self._thread = FairThread("long bodies")

    async def parse(self, caller: str, size: int, parse: Callable[[], T]) -> T:
        """Parse a body of this size; long ones wait for their turn."""
        if size <= INLINE_BYTES:
            return parse()
        return await self._thread.run(caller, parse)
