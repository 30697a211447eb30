"""Slots: our own queue for places in an engine's batch, so that the engine's queue, which knows no callers, stays short."""

from __future__ import annotations

import asyncio
from bisect import bisect_left, insort
from collections import OrderedDict
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from math import inf
from typing import TYPE_CHECKING, Final

from apiserver.lanes import LONG_SHARE, SHORT_SEGMENTS
from shared.lane import Lane

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from apiserver.drain import DrainRate

# One slot in so many is handed out beyond the batch: what waits in the engine itself takes the places that a step frees,
# for our own next grant reaches it only a step later (measured: benchmarks/README.md, "Slots").
OVERHANG: Final = 8
# Bulk work holds at most one in so many of the places while there is more urgent work, or was within QUIET_SECONDS; else bulk may fill the batch.
BULK_SHARE: Final = 4
QUIET_SECONDS: Final = 5.0
# Every so many grants one is fair: it goes to the waiting lane that was served longest ago, so that none starves. For that
# a lane may hold one place more than its share: the shares of long texts and of bulk could else be full by turns for ever.
FAIR_TURN: Final = 16
# What bulk keeps its share beside.
_URGENT: Final = tuple(lane for lane in Lane if lane < Lane.BULK_SHORT)


@dataclass(frozen=True, slots=True)
class Claim:
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
class _Waiter:
    turn: int
    number: int
    place: asyncio.Future[None] = field(compare=False)
    granted: bool = field(default=False, compare=False)


@dataclass(slots=True)
class _Line:
    """One caller's waiters in a lane, in order; how many turns it had in advance, and whether its turn goes on."""

    waiting: list[_Waiter] = field(default_factory=list[_Waiter])
    advance: int = 0
    in_turn: bool = False


@dataclass(slots=True)
class _Queue:
    """One lane's waiters: callers take turns, each with what it wants first. Knows a caller only while it waits.

    Up to ``most`` segments of one text go in one turn, for the text is of use only when all of it is done; for each
    beyond the first its caller passes a later turn.
    """

    most: int
    callers: OrderedDict[str, _Line] = field(default_factory=OrderedDict[str, _Line])

    def add(self, caller: str, waiter: _Waiter) -> None:
        insort(self.callers.setdefault(caller, _Line()).waiting, waiter)

    def pop(self) -> _Waiter:
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

    def remove(self, caller: str, waiter: _Waiter) -> None:
        line = self.callers[caller]
        del line.waiting[bisect_left(line.waiting, waiter)]
        if not line.waiting:
            del self.callers[caller]


class Slots:
    """Places in one engine's batch; mutable state: how many are held by whom, who waits. One event loop.

    Who waits is served by lane, then callers in turn, then the text that came first: shared out evenly, ten long texts of a
    caller would all be done at the same late time, or all be given up at the same deadline. How many can wait is bounded
    by admission, and for long texts by their workers.
    """

    def __init__(
        self,
        at_once: int,
        clock: Callable[[], float],
        *,
        overhang: int = 0,
        rate: DrainRate | None = None,
    ) -> None:
        """Hand out ``at_once + overhang`` places; ``rate`` is told how full the batch is."""
        self.at_once = at_once
        self.long_width = max(1, at_once // LONG_SHARE)
        self.bulk_width = max(1, at_once // BULK_SHARE)
        self._free = at_once + overhang
        self._room_below = overhang  # with no more places free than this, the batch is full
        self.clock = clock
        self._rate = rate
        self._long = self._bulk = self._urgent = 0
        self._urgent_at = -inf
        self._queues = [_Queue(1 if lane.is_long else SHORT_SEGMENTS) for lane in Lane]
        self._waiting = 0
        self._numbers = count()
        self._grants = self._fair = 0
        # By lane: the number of the grant with which it was served last, or after which it began to wait.
        self._since = [0] * len(Lane)

    def __repr__(self) -> str:
        """Show how full it is."""
        return f"<Slots held={self.held}/{self.at_once} waiting={self._waiting}>"

    @property
    def held(self) -> int:
        """Places held."""
        return self._urgent + self._bulk

    @property
    def waiting(self) -> int:
        """Claims that wait."""
        return self._waiting

    async def take(self, claim: Claim) -> None:
        """Wait for a place and hold it until :meth:`give`; a canary goes past all of this."""
        lane = claim.lane
        if lane is None:
            return
        queue = self._queues[lane]
        # While a place is free, whoever waits in another lane may not have it.
        if self._free and not queue.callers and self._may(lane):
            self._hold(lane)
            self._tell()
            return
        if not queue.callers:
            self._since[lane] = self._grants
        waiter = _Waiter(claim.turn, next(self._numbers), asyncio.get_running_loop().create_future())
        queue.add(claim.caller, waiter)
        self._waiting += 1
        if self._free:
            self._grant()  # time alone can have let bulk work in
        self._tell()
        try:
            await waiter.place
        except asyncio.CancelledError:
            if waiter.granted:  # in this very moment
                self.give(claim)
            else:
                queue.remove(claim.caller, waiter)
                self._waiting -= 1
                self._tell()
            raise

    @asynccontextmanager
    async def hold(self, claim: Claim) -> AsyncGenerator[None]:
        """Hold a place while the block lasts."""
        await self.take(claim)
        try:
            yield
        finally:
            self.give(claim)

    def give(self, claim: Claim) -> None:
        """Give a place back; who waits for it has it at once."""
        lane = claim.lane
        if lane is None:
            return
        self._free += 1
        if lane.is_long:
            self._long -= 1
        if lane >= Lane.BULK_SHORT:
            self._bulk -= 1
        else:
            self._urgent -= 1
            self._urgent_at = self.clock()
        if self._waiting:
            self._grant()
        self._tell()

    def _hold(self, lane: Lane) -> None:
        self._free -= 1
        if lane.is_long:
            self._long += 1
        if lane >= Lane.BULK_SHORT:
            self._bulk += 1
        else:
            self._urgent += 1

    def _tell(self) -> None:
        """Tell the rate how full the batch is; who waits while there is room waits for a share of the places."""
        if self._rate is None:
            return
        if self._free <= self._room_below:
            self._rate.full(1.0)
        else:
            self._rate.full(self.held / self.at_once if self._waiting else 0.0)

    def _may(self, lane: Lane, beyond: int = 0) -> bool:
        """Say whether the lane may hold one more of the free places, with so many beyond its share."""
        if lane.is_long and self._long >= self.long_width + beyond:
            return False
        return lane < Lane.BULK_SHORT or self._bulk < self.bulk_width + beyond or self._is_quiet()

    def _is_quiet(self) -> bool:
        if self._urgent or any(self._queues[lane].callers for lane in _URGENT):
            return False
        return self.clock() - self._urgent_at > QUIET_SECONDS

    def _grant(self) -> None:
        """Hand out what is free to those who wait and may have it."""
        while self._free and self._waiting:
            waiting = [lane for lane in Lane if self._queues[lane].callers]
            owed = min(waiting, key=self._since.__getitem__)
            # Where the lane that it is owed to may not have it now, the fair turn waits for it.
            fair = self._grants - self._fair >= FAIR_TURN - 1 and len(waiting) > 1 and self._may(owed, beyond=1)
            lane = owed if fair else next(filter(self._may, waiting), None)
            if lane is None:
                return
            self._grants += 1
            self._since[lane] = self._grants
            if fair:
                self._fair = self._grants
            self._waiting -= 1
            self._hold(lane)
            waiter = self._queues[lane].pop()
            waiter.granted = True
            if not waiter.place.done():  # cancelled just now: it hands its place on as soon as it learns of that
                waiter.place.set_result(None)
