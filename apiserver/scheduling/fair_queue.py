"""Fair queue: one lane's waiting segments, callers in turn."""

from __future__ import annotations

import asyncio
from bisect import bisect_left, insort
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

from shared.protocol.lanes import Lane

# One slot in so many is handed out beyond the batch: what waits in the engine itself takes the places that a step frees,
# for our own next grant reaches it only a step later (measured: benchmarks/README.md, "Slots").
OVERHANG: Final = 8
# What bulk keeps its share beside.
URGENT_LANES: Final = tuple(lane for lane in Lane if lane < Lane.BULK_SHORT)


@dataclass(frozen=True, slots=True)
class SlotRequest:
    """Who wants slots: a text's lane, its caller's tag, and its turn among the texts of its caller (the lowest first).

    A canary has no lane.
    """

    lane: Lane | None
    caller: str
    turn: int

    @property
    def is_long(self) -> bool:
        """Whether the text is long."""
        return self.lane is not None and self.lane.is_long


@dataclass(slots=True, order=True)
class Waiter:
    """A segment that waits for a slot, in the order of its text's turn."""

    turn: int
    number: int
    place: asyncio.Future[None] = field(compare=False)
    granted: bool = field(default=False, compare=False)


@dataclass(slots=True)
class CallerQueue:
    """One caller's waiters in a lane, in order; how many turns it had in advance, and whether its turn goes on."""

    waiting: list[Waiter] = field(default_factory=list[Waiter])
    advance: int = 0
    in_turn: bool = False


@dataclass(slots=True)
class FairQueue:
    """One lane's waiters: callers take turns, each with what it wants first. Knows a caller only while it waits.

    Up to ``most`` segments of one text go in one turn, for the text is of use only when all of it is done; for each
    beyond the first its caller passes a later turn.
    """

    most: int
    callers: OrderedDict[str, CallerQueue] = field(default_factory=OrderedDict[str, CallerQueue])

    def add(self, caller: str, waiter: Waiter) -> None:
        """Put a waiter into its caller's queue."""
        insort(self.callers.setdefault(caller, CallerQueue()).waiting, waiter)

    def pop(self) -> Waiter:
        """Take the next waiter out: the first of the caller whose turn it is."""
        caller, line = next(iter(self.callers.items()))
        while line.advance and not line.in_turn:
            line.advance -= 1
            self.callers.move_to_end(caller)
            caller, line = next(iter(self.callers.items()))
        waiter = line.waiting.pop(0)
        if not line.waiting:
            del self.callers[caller]
            return waiter
        line.in_turn = line.waiting[0].turn == waiter.turn and line.advance < self.most - 1
        if line.in_turn:
            line.advance += 1
        else:
            self.callers.move_to_end(caller)
        return waiter

    def remove(self, caller: str, waiter: Waiter) -> None:
        """Take out one that waits no more."""
        line = self.callers[caller]
        del line.waiting[bisect_left(line.waiting, waiter)]
        if not line.waiting:
            del self.callers[caller]
