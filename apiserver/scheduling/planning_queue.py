"""Planning queue: callers in turn at the threads that plan long texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeVar

from shared.runtime.turns import FairThread, LoopTurns

T = TypeVar("T")

# Characters of a short slice: at most 0.1 s of planning (docs/decisions/0011-translation-core.md).
SLICE_CHARS: Final = 8000


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
