"""GC tuning: freeze start-up objects, because a full collection blocks the event loop."""

from __future__ import annotations

import gc
from typing import Final

# Net new objects after which generation 0 is collected. Python's own number, 700, is less than what 32 requests in
# flight make.
GENERATION_0_OBJECTS: Final = 7_000
# Collections of generation 0 before one of generation 1: at most 28,000 objects, which stop the event loop for
# 10 to 18 ms while thousands of connections come. 84,000 at a time stopped it for 40 to 80 (gc.callbacks, 10,000 connections).
GENERATION_0_COLLECTIONS: Final = 2
# Collections of generation 1 before a full one: some million new objects, 70 MB, at the earliest. (Python puts off the first
# one further, until a quarter as many have survived as were frozen.) What we make refers to itself only rarely, and
# Python's own numbers stop the event loop for 100 ms again and again while thousands of connections come.
GENERATION_1_COLLECTIONS: Final = 35


def freeze_loaded_objects() -> None:
    """Exclude all objects of now from garbage collection, after a last full one.

    A full collection stops the event loop while it looks at every object: measured 37 ms in a proxy and 208 ms in an API
    server that has imported vLLM, on a quiet machine, and some of them a minute under load. What is made later is looked
    at, all of it seldom.
    """
    gc.set_threshold(GENERATION_0_OBJECTS, GENERATION_0_COLLECTIONS, GENERATION_1_COLLECTIONS)
    gc.collect()
    gc.freeze()
