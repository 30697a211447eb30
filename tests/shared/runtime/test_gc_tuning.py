"""A frozen heap: what lives is not looked through again, and garbage is still found."""

from __future__ import annotations

import gc
import weakref
from typing import NoReturn

from shared.runtime import gc_tuning


class Ring:
    def __init__(self) -> None:
        self.own = self


def test_rare_collections_end_with_their_block() -> None:
    before = gc.get_threshold()
    with gc_tuning.rare_collections(full=False):
        assert gc.get_threshold()[2] == gc_tuning.NEVER
        with gc_tuning.rare_collections():
            assert gc.get_threshold()[2] == gc_tuning.GENERATION_1_COLLECTIONS
    assert gc.get_threshold() == before


async def test_garbage_is_collected_when_idle_and_at_last() -> None:
    collections: list[None] = []
    idle = [True, False, True]
    collector = gc_tuning.IdleCollector(idle.pop, lambda: collections.append(None))
    for expected in (1, 1, 2):
        await collector.tick()
        assert len(collections) == expected
    busy = gc_tuning.IdleCollector(lambda: False, lambda: collections.append(None))
    for _ in range(gc_tuning.MAX_PUT_OFF):
        await busy.tick()
    assert len(collections) == 2
    await busy.tick()
    assert len(collections) == 3


def test_freeze_excludes_old_objects_and_collects_new_ones() -> None:
    kept = Ring()
    try:
        gc_tuning.freeze_loaded_objects()
        assert gc.get_freeze_count() > 0
        assert not any(each is kept for each in gc.get_objects())
        lost = weakref.ref(Ring())
        gc.collect()
        assert lost() is None
    finally:
        gc.unfreeze()


class Body:
    """What a failed request holds."""


def _failed() -> tuple[BaseException, weakref.ref[Body]]:
    """Return an error of many parts, each of which is held by a frame of its own traceback."""
    body = Body()

    def part(cause: BaseException | None) -> BaseException:
        held = body
        try:
            fail(held, cause)
        except ValueError as error:
            kept = error
        return kept

    def fail(held: Body, cause: BaseException | None) -> NoReturn:
        raise ValueError(str(held)) from cause

    try:
        try:
            raise part(None)
        except ValueError:
            raise BaseExceptionGroup("two", [part(None), part(part(None))]) from part(None)
    except BaseExceptionGroup as error:
        return error, weakref.ref(body)


def test_dropped_tracebacks_keep_nothing() -> None:
    gc.disable()
    try:
        error, body = _failed()
        gc_tuning.drop_tracebacks(error)
        error.__context__ = error  # a chain may be a ring
        gc_tuning.drop_tracebacks(error)
        assert body() is None
    finally:
        gc.enable()
