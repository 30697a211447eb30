"""A frozen heap: what lives is not looked through again, and garbage is still found."""

from __future__ import annotations

import gc
import weakref

from shared.runtime import gc_tuning


class Ring:
    def __init__(self) -> None:
        self.own = self


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
