"""Shadow policy: which requests the candidate translates too."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from apiserver.scheduling.work_item import WorkItem

# A comparison of so many characters keeps the event loop busy for about 2 ms.
MAX_CHARS: Final = 1000
# Shadow requests at once; none waits for another.
MAX_IN_FLIGHT: Final = 4
# Cost units in flight per place of the batch. Callers come first, so a half-full engine gets no shadow requests.
MAX_LOAD: Final = 0.5


class DropReason(StrEnum):
    """Reason why a sampled request is not shadowed."""

    OPTED_OUT = "opted-out"  # its caller allows no storing
    TOO_LONG = "too-long"
    BUSY = "busy"
    PAUSED = "paused"  # it slowed callers down, or their baseline is being measured
    FULL = "full"  # too many shadow requests in flight


def drop_reason(work: WorkItem, load: float, in_flight: int, *, is_paused: bool) -> DropReason | None:
    """Return why a request is not shadowed, or None.

    ``load`` is that of the busiest model, serving or candidate; ``in_flight`` counts shadow requests.
    """
    if work.no_store:
        return DropReason.OPTED_OUT
    if work.chars > MAX_CHARS:
        return DropReason.TOO_LONG
    if load > MAX_LOAD:
        return DropReason.BUSY
    if is_paused:
        return DropReason.PAUSED
    return DropReason.FULL if in_flight >= MAX_IN_FLIGHT else None
