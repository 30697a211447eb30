"""Batch slots: our own queue for an engine's batch, so that the engine's queue stays short."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from itertools import count
from math import inf
from typing import Final

from apiserver.scheduling.fair_queue import FairQueue, SlotRequest, Waiter
from apiserver.scheduling.throughput import ThroughputMeter
from shared.protocol.lanes import SHORT_UNITS, Lane

# Long texts together run at most one in so many of the requests that the engine runs at once. A step's time grows with
# its batch, so this is what a short text feels of a long one (measured: benchmarks/README.md, "Long texts").
LONG_SHARE: Final = 4
# Once it is planned, a text is long by its engine requests: more segments than this. Admission and the
# proxy, which know only characters, go by shared/protocol/lanes.py; sentences are often of half a unit, and a paragraph that was
# taken on as short must not wait behind all short texts.
SHORT_SEGMENTS: Final = 2 * SHORT_UNITS
# vLLM takes lower numbers first: work goes by its lane's, canaries before all.
CANARY_PRIORITY: Final = -1
# One slot in so many is handed out beyond the batch: what waits in the engine itself takes the slots that a step frees,
# for our own next grant reaches it only a step later (measured: benchmarks/README.md, "Slots").
OVERHANG: Final = 8
# What bulk keeps its share beside.
URGENT_LANES: Final = tuple(lane for lane in Lane if lane < Lane.BULK_SHORT)
# Bulk work holds at most one in so many of the slots while there is more urgent work, or was within QUIET_SECONDS; else bulk may fill the batch.
BULK_SHARE: Final = 4
QUIET_SECONDS: Final = 5.0
# Every so many grants one is fair: it goes to the waiting lane that was served longest ago, so that none starves. For that
# a lane may hold one slot more than its share: the shares of long texts and of bulk could else be full by turns for ever.
FAIR_GRANT_INTERVAL: Final = 16


class BatchSlots:
    """Slots of one engine's batch; mutable state: how many are held by whom, who waits. One event loop.

    Who waits is served by lane, then callers in turn, then the text that came first: shared out evenly, ten long texts of a
    caller would all be done at the same late time, or all be given up at the same deadline. How many can wait is bounded
    by admission, and for long texts by their workers.

    ``batch_size + overhang`` slots are handed out; ``meter`` learns how full the batch is.
    """

    def __init__(
        self,
        batch_size: int,
        clock: Callable[[], float],
        *,
        overhang: int = 0,
        meter: ThroughputMeter | None = None,
    ) -> None:
        self.batch_size = batch_size
        self.long_width = max(1, batch_size // LONG_SHARE)
        self.bulk_width = max(1, batch_size // BULK_SHARE)
        self._free = batch_size + overhang
        self._full_below = overhang  # with no more slots free than this, the batch is full
        self.clock = clock
        self._meter = meter
        self._held_long = self._held_bulk = self._held_urgent = 0
        self._urgent_at = -inf
        self._queues = [FairQueue(1 if lane.is_long else SHORT_SEGMENTS) for lane in Lane]
        self._waiting = 0
        self._numbers = count()
        self._grants = self._last_fair_grant = 0
        # By lane: the number of the grant with which it was served last, or after which it began to wait.
        self._served_at_grant = [0] * len(Lane)

    def __repr__(self) -> str:
        """Show how full it is."""
        return f"<BatchSlots held={self.held}/{self.batch_size} waiting={self._waiting}>"

    @property
    def held(self) -> int:
        """Slots held."""
        return self._held_urgent + self._held_bulk

    @property
    def waiting(self) -> int:
        """Requests that wait."""
        return self._waiting

    async def acquire(self, request: SlotRequest) -> None:
        """Wait for a slot and hold it until :meth:`release`; a canary goes past all of this."""
        lane = request.lane
        if lane is None:
            return
        queue = self._queues[lane]
        # While a slot is free, whoever waits in another lane may not have it.
        if self._free and not queue.callers and self._may_hold(lane):
            self._count_held(lane)
            self._update_meter()
            return
        if not queue.callers:
            self._served_at_grant[lane] = self._grants
        waiter = Waiter(request.turn, next(self._numbers), asyncio.get_running_loop().create_future())
        queue.add(request.caller, waiter)
        self._waiting += 1
        if self._free:
            self._grant()  # time alone can have let bulk work in
        self._update_meter()
        try:
            await waiter.slot
        except asyncio.CancelledError:
            if waiter.granted:  # in this very moment
                self.release(request)
            else:
                queue.remove(request.caller, waiter)
                self._waiting -= 1
                self._update_meter()
            raise

    @asynccontextmanager
    async def hold(self, request: SlotRequest) -> AsyncGenerator[None]:
        """Hold a slot while the block lasts."""
        await self.acquire(request)
        try:
            yield
        finally:
            self.release(request)

    def release(self, request: SlotRequest) -> None:
        """Give a slot back; who waits for it has it at once."""
        lane = request.lane
        if lane is None:
            return
        self._free += 1
        if lane.is_long:
            self._held_long -= 1
        if lane >= Lane.BULK_SHORT:
            self._held_bulk -= 1
        else:
            self._held_urgent -= 1
            self._urgent_at = self.clock()
        if self._waiting:
            self._grant()
        self._update_meter()

    def _count_held(self, lane: Lane) -> None:
        self._free -= 1
        if lane.is_long:
            self._held_long += 1
        if lane >= Lane.BULK_SHORT:
            self._held_bulk += 1
        else:
            self._held_urgent += 1

    def _update_meter(self) -> None:
        """Set how full the batch is; who waits while slots are free waits for a share of them."""
        if self._meter is None:
            return
        if self._free <= self._full_below:
            self._meter.set_fullness(1.0)
        else:
            self._meter.set_fullness(self.held / self.batch_size if self._waiting else 0.0)

    def _may_hold(self, lane: Lane, beyond: int = 0) -> bool:
        """Say whether the lane may hold one more of the free slots, with so many beyond its share."""
        if lane.is_long and self._held_long >= self.long_width + beyond:
            return False
        return lane < Lane.BULK_SHORT or self._held_bulk < self.bulk_width + beyond or self._is_quiet()

    def _is_quiet(self) -> bool:
        if self._held_urgent or any(self._queues[lane].callers for lane in URGENT_LANES):
            return False
        return self.clock() - self._urgent_at > QUIET_SECONDS

    def _grant(self) -> None:
        """Hand out what is free to those who wait and may have it."""
        while self._free and self._waiting:
            waiting = [lane for lane in Lane if self._queues[lane].callers]
            owed = min(waiting, key=self._served_at_grant.__getitem__)
            # Where the lane that it is owed to may not have it now, the fair turn waits for it.
            fair = (
                self._grants - self._last_fair_grant >= FAIR_GRANT_INTERVAL - 1
                and len(waiting) > 1
                and self._may_hold(owed, beyond=1)
            )
            lane = owed if fair else next(filter(self._may_hold, waiting), None)
            if lane is None:
                return
            self._grants += 1
            self._served_at_grant[lane] = self._grants
            if fair:
                self._last_fair_grant = self._grants
            self._waiting -= 1
            self._count_held(lane)
            waiter = self._queues[lane].pop()
            waiter.granted = True
            if not waiter.slot.done():  # cancelled just now: it hands its slot on as soon as it learns of that
                waiter.slot.set_result(None)
