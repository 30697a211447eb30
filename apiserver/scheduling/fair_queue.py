"""Fair queue: one lane's waiting segments, callers in turn."""

from __future__ import annotations

import asyncio
from bisect import bisect_left, insort
from collections import OrderedDict
from dataclasses import dataclass, field

from shared.protocol.lanes import Lane


@dataclass(frozen=True, slots=True)
class SlotRequest:
    """A text's request for slots: its lane, its caller's tag, its turn among the caller's texts (lowest first).

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
    slot: asyncio.Future[None] = field(compare=False)
    granted: bool = field(default=False, compare=False)


@dataclass(slots=True)
class CallerQueue:
    """One caller's waiters in a lane, in order; turns it had in advance, and whether its turn goes on."""

    waiters: list[Waiter] = field(default_factory=list[Waiter])
    turns_in_advance: int = 0
    in_turn: bool = False


@dataclass(slots=True)
class FairQueue:
    """One lane's waiters: callers take turns, each with its first text first. Knows a caller only while it waits.

    Up to ``max_segments_per_turn`` segments of one text go in one turn, for the text is of use only when all of it is done; for each
    beyond the first its caller passes a later turn.
    """

    max_segments_per_turn: int
    callers: OrderedDict[str, CallerQueue] = field(default_factory=OrderedDict[str, CallerQueue])

    def add(self, caller: str, waiter: Waiter) -> None:
        """Put a waiter into its caller's queue."""
        insort(self.callers.setdefault(caller, CallerQueue()).waiters, waiter)

    def pop(self) -> Waiter:
        """Take the next waiter out: the first of the caller whose turn it is."""
        caller, queue = next(iter(self.callers.items()))
        while queue.turns_in_advance and not queue.in_turn:
            queue.turns_in_advance -= 1
            self.callers.move_to_end(caller)
            caller, queue = next(iter(self.callers.items()))
        waiter = queue.waiters.pop(0)
        if not queue.waiters:
            del self.callers[caller]
            return waiter
        queue.in_turn = queue.waiters[0].turn == waiter.turn and queue.turns_in_advance < self.max_segments_per_turn - 1
        if queue.in_turn:
            queue.turns_in_advance += 1
        else:
            self.callers.move_to_end(caller)
        return waiter

    def remove(self, caller: str, waiter: Waiter) -> None:
        """Take out one that waits no more."""
        queue = self.callers[caller]
        del queue.waiters[bisect_left(queue.waiters, waiter)]
        if not queue.waiters:
            del self.callers[caller]
