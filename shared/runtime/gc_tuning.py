"""GC tuning, because a full collection blocks the event loop."""

from __future__ import annotations

import gc
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final, cast

# More objects than 32 requests in flight have, and short pauses of the event loop (docs/decisions/0018-hot-path.md).
GENERATION_0_OBJECTS: Final = 7_000
GENERATION_0_COLLECTIONS: Final = 2
GENERATION_1_COLLECTIONS: Final = 35
# Beyond all collections of a process.
NEVER: Final = 1_000_000_000
IDLE_CHECK_SECONDS: Final = 10.0
# After five minutes of long texts garbage is collected among them.
MAX_PUT_OFF: Final = 30


def freeze_loaded_objects() -> None:
    """Exclude all present objects from garbage collection.

    Later full collections would block the event loop for 37 to 208 ms.
    """
    gc.collect()
    gc.freeze()


@contextmanager
def rare_collections(*, full: bool = True, freezes: bool = False) -> Generator[None]:
    """Make automatic collections rare in this block.

    Not ``full``: no full ones. ``freezes``: as :func:`freeze_loaded_objects`.
    """
    if freezes:
        freeze_loaded_objects()
    before = gc.get_threshold()
    gc.set_threshold(GENERATION_0_OBJECTS, GENERATION_0_COLLECTIONS, GENERATION_1_COLLECTIONS if full else NEVER)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def drop_tracebacks(error: BaseException) -> None:
    """Drop the frames of an error, its causes and its parts.

    A frame that holds its own error, as of a future, is a reference cycle: its texts would stay until the garbage
    collector runs. Call it once nobody logs the traceback.
    """
    pending: list[BaseException | None] = [error]
    seen: set[int] = set()
    while pending:
        each = pending.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        each.__traceback__ = None
        pending += (each.__cause__, each.__context__)
        if isinstance(each, BaseExceptionGroup):
            pending += cast("BaseExceptionGroup[BaseException]", each).exceptions


class IdleCollector:
    """Full collections at idle times.

    Long texts have 100,000s of objects. A collection among them blocks the event loop for 60 to 210 ms, and finds
    nothing: they end by themselves.
    """

    def __init__(self, is_idle: Callable[[], bool], collect: Callable[[], object] = gc.collect) -> None:
        self._is_idle = is_idle
        self._collect = collect
        self._put_off = 0

    async def tick(self) -> None:
        """Collect garbage, unless it is better put off."""
        if self._put_off < MAX_PUT_OFF and not self._is_idle():
            self._put_off += 1
            return
        self._put_off = 0
        self._collect()
