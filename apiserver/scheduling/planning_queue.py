"""Planning queue: callers in turn at the threads that plan long texts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeVar

from shared.runtime.fair_queue import FairThread

T = TypeVar("T")

# Characters of short work in one turn of the event loop: the outputs of one engine step arrive at once, and their checks take
# up to 5 µs a character.
TURN_CHARS: Final = 4000
# Characters of a short slice: at most 0.1 s of planning (docs/decisions/0011-translation-core.md).
SLICE_CHARS: Final = 8000


class LoopTurns:
    """Turns of an event loop with little short work in each.

    A turn has ``TURN_CHARS``, or one longer work alone. Used on one event loop.
    """

    def __init__(self) -> None:
        self._chars = 0

    async def take(self, chars: int) -> None:
        """Wait for a turn with place for so many characters."""
        while self._chars and self._chars + chars > TURN_CHARS:  # noqa: ASYNC110 - the loop's next turn is what it waits for
            await asyncio.sleep(0)
        if not self._chars:
            asyncio.get_running_loop().call_soon(self._next)
        self._chars += max(1, chars)

    def _next(self) -> None:
        self._chars = 0


class PlanningQueue:
    """The threads that plan a server's long texts.

    A slice of many characters, which is one text, has a thread of its own: a short one waits at most for one short
    slice of each other caller. The interpreter switches between threads every 5 ms.
    """

    def __init__(self) -> None:
        self._short = FairThread("planning")
        self._long = FairThread("planning-long")
        self.turns = LoopTurns()

    async def run(self, caller: str, chars: int, plan: Callable[[], T]) -> T:
        """Return the plan, made in the thread for such lengths."""
        thread = self._long if chars > SLICE_CHARS else self._short
        return await thread.run(caller, plan)


def slices(texts: Sequence[str]) -> Iterator[range]:
    """Yield indices to plan at once: ``SLICE_CHARS``, or one longer text."""
    first = chars = 0
    for index, text in enumerate(texts):
        if index > first and chars + len(text) > SLICE_CHARS:
            yield range(first, index)
            first, chars = index, 0
        chars += len(text)
    yield range(first, len(texts))
