"""Long bodies: parsed in one thread, one after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

T = TypeVar("T")

# Shorter bodies take at most 4 ms of the event loop, which is the slowest form's.
INLINE_BYTES: Final = 32_768
# One, because each step of a parser keeps the interpreter's lock, for up to 30 ms.
_THREAD: Final = ThreadPoolExecutor(1, "long bodies")


async def parse_in_turn(size: int, parse: Callable[[], T]) -> T:
    """Parse a body of this size; long ones wait for each other."""
    if size <= INLINE_BYTES:
        return parse()
    return await asyncio.get_running_loop().run_in_executor(_THREAD, parse)
