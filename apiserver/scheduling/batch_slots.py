"""Batch slots: our own queue for places in an engine's batch, so that the engine's queue stays short."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from itertools import count
from math import inf
from typing import Final

from apiserver.scheduling.fair_queue import URGENT_LANES, FairQueue, SlotRequest, Waiter
from apiserver.scheduling.throughput import ThroughputMeter
from shared.protocol.lanes import SHORT_UNITS, Lane

# Bulk work holds at most one in so many of the places while there is more urgent work, or was within QUIET_SECONDS; else bulk may fill the batch.
BULK_SHARE: Final = 4
QUIET_SECONDS: Final = 5.0
# Every so many grants one is fair: it goes to the waiting lane that was served longest ago, so that none starves. For that
# a lane may hold one place more than its share: the shares of long texts and of bulk could else be full by turns for ever.
FAIR_TURN: Final = 16


class BatchSlots:
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
        rate: ThroughputMeter | None = None,
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
        self._queues = [FairQueue(1 if lane.is_long else SHORT_SEGMENTS) for lane in Lane]
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

    async def take(self, claim: SlotRequest) -> None:
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
        waiter = Waiter(claim.turn, next(self._numbers), asyncio.get_running_loop().create_future())
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
    async def hold(self, claim: SlotRequest) -> AsyncGenerator[None]:
        """Hold a place while the block lasts."""
        await self.take(claim)
        try:
            yield
        finally:
            self.give(claim)

    def give(self, claim: SlotRequest) -> None:
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
        if self._urgent or any(self._queues[lane].callers for lane in URGENT_LANES):
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


# Long texts together run at most one in so many of the requests that the engine runs at once. A step's time grows with
# its batch, so this is what a short text feels of a long one (measured: benchmarks/README.md, "Long texts").
LONG_SHARE: Final = 4
# Once it is planned, a text is long by what the engine is really asked for: more segments than this. Admission and the
# proxy, which know only characters, go by shared/protocol/lanes.py; sentences are often of half a unit, and a paragraph that was
# taken on as short must not wait behind all short texts.
SHORT_SEGMENTS: Final = 2 * SHORT_UNITS
# vLLM takes lower numbers first: work goes by its lane's, canaries before all.
CANARY_PRIORITY: Final = -1
