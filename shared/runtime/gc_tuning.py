"""GC tuning, because a full collection blocks the event loop."""

from __future__ import annotations

import gc
from typing import Final

# New objects before a collection of generation 0 (Python: 700; 32 requests in flight have more), collections of it
# before one of generation 1 (28,000 objects: 10 to 18 ms), and of that before a full one
# (docs/decisions/0018-hot-path.md).
GENERATION_0_OBJECTS: Final = 7_000
GENERATION_0_COLLECTIONS: Final = 2
GENERATION_1_COLLECTIONS: Final = 35


def freeze_loaded_objects() -> None:
    """Exclude all present objects from garbage collection, after a last full one.

    Later full collections would block the event loop for 37 to 208 ms.
    """
    gc.set_threshold(GENERATION_0_OBJECTS, GENERATION_0_COLLECTIONS, GENERATION_1_COLLECTIONS)
    gc.collect()
    gc.freeze()
