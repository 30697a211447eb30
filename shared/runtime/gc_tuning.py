"""The heap: what a program has loaded is no garbage, and looking through it for some stops everything else."""

from __future__ import annotations

import gc
from typing import Final

# Net new objects after which those are looked through for garbage. Python's own number, 700, is less than what 32 requests in
# hand are.
GENERATION_0_OBJECTS: Final = 7_000
# After so many such looks the next one takes in those that survived one: at most 28,000 objects, which stop the event loop for
# 10 to 18 ms while thousands of connections come. 84,000 at a time stopped it for 40 to 80 (gc.callbacks, 10,000 connections).
GENERATION_0_COLLECTIONS: Final = 2
# After so many of those the next one is at all: some million new objects, 70 MB, at the earliest. (Python puts off the first
# one further, until a quarter as many have survived as were frozen.) What we make refers to itself only rarely, and
# Python's own numbers stop the event loop for 100 ms again and again while thousands of connections come.
GENERATION_1_COLLECTIONS: Final = 35


def freeze_loaded_objects() -> None:
    """Take all that lives now out of the garbage collector's sight, after a last look for garbage.

    A full collection stops the event loop while it looks at every object: measured 37 ms in a proxy and 208 ms in an API
    server that has imported vLLM, on a quiet machine, and some of them a minute under load. What is made later is looked
    at, all of it seldom.
    """
    gc.set_threshold(GENERATION_0_OBJECTS, GENERATION_0_COLLECTIONS, GENERATION_1_COLLECTIONS)
    gc.collect()
    gc.freeze()
