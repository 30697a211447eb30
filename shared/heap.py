"""The heap: what a program has loaded is no garbage, and looking through it for some stops everything else."""

from __future__ import annotations

import gc
from typing import Final

# Net new objects after which all are looked through for garbage: some 70 MB of them. Python's own number, 70,000, stops the
# event loop for 100 ms again and again while thousands of connections come; what we make refers to itself only rarely.
YOUNG: Final = 7_000
LOOKS_AT_YOUNG: Final = 10
LOOKS_AT_OLDER: Final = 10


def freeze() -> None:
    """Take all that lives now out of the garbage collector's sight, after a last look for garbage.

    A full collection stops the event loop while it looks at every object: measured 37 ms in a proxy and 208 ms in an API
    server that has imported vLLM, on a quiet machine, and some of them a minute under load. What is made later is looked
    at, all of it seldom.
    """
    gc.set_threshold(YOUNG, LOOKS_AT_YOUNG, LOOKS_AT_OLDER)
    gc.collect()
    gc.freeze()
