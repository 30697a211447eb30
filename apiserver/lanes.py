"""BatchShare: how much of an engine's running batch long texts may hold, so that short ones keep their pace."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
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
    """Room for the long texts' requests in one engine's batch; mutable state: who holds it. One event loop."""

    def __init__(self, max_num_seqs: int) -> None:
        """Share out a batch of that many requests."""
        self.width = max(1, max_num_seqs // LONG_SHARE)
        self._room = asyncio.Semaphore(self.width)

    @asynccontextmanager
    async def hold(self, priority: int) -> AsyncGenerator[None]:
        """Hold one place while the block lasts; only those of long texts ever wait."""
        if priority < LONG_PRIORITY:
            yield
            return
        async with self._room:
            yield
