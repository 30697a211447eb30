"""GC tuning, because a full collection blocks the event loop."""

from __future__ import annotations

import gc
from typing import Final

# More objects than 32 requests in flight have, and short pauses of the event loop (docs/decisions/0018-hot-path.md).
GENERATION_0_OBJECTS: Final = 7_000
GENERATION_0_COLLECTIONS: Final = 2
GENERATION_1_COLLECTIONS: Final = 35


def freeze_loaded_objects() -> None:
    """Exclude all present objects from garbage collection.

    Later full collections would block the event loop for 37 to 208 ms.
    """
    gc.set_threshold(GENERATION_0_OBJECTS, GENERATION_0_COLLECTIONS, GENERATION_1_COLLECTIONS)
    gc.collect()
    gc.freeze()
