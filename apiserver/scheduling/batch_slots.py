"""Batch slots: a fair queue for an engine's batch."""

from __future__ import annotations

import asyncio
from itertools import count
from typing import Final

from apiserver.scheduling.throughput import ThroughputMeter
from apiserver.scheduling.work_item import WorkItem
from shared.protocol.priority import SHORT_UNITS, Lane
from shared.runtime.turns import FairQueue, Waiter

# Long texts hold at most one slot in this many, so that short texts stay fast (docs/benchmarks/long-texts.md).
LONG_SHARE: Final = 4
# A planned text with more segments is long; a sentence is often half a unit.
SHORT_SEGMENTS: Final = 2 * SHORT_UNITS
# vLLM takes lower numbers first; work has its lane's.
CANARY_PRIORITY: Final = -1
# One extra slot for this many, because our next grant arrives a step late (docs/benchmarks/sizing.md).
OVERHANG: Final = 8
# Bulk holds at most one slot in this many during more urgent work.
BULK_SHARE: Final = 4
URGENT_LANES: Final = tuple(lane for lane in Lane if lane < Lane.BULK_SHORT)
LONG_LANES: Final = tuple(lane for lane in Lane if lane.is_long)
# A lane's price for a grant: urgent work goes first, and none starves.
STRIDES: Final = (1, 4, 8, 16, 32, 32)


class BatchSlots:
    """The ``batch_size + overhang`` slots of one engine; one event loop.

    Waiters are served by lane (``STRIDES``), then caller in turn, then text.
    """

    def __init__(self, batch_size: int, *, overhang: int = 0, meter: ThroughputMeter | None = None) -> None:
        self.batch_size = batch_size
        self.long_width = max(1, batch_size // LONG_SHARE)
        self.bulk_width = max(1, batch_size // BULK_SHARE)
        self.held = self.waiting = 0
        self._most = batch_size + overhang
        self._meter = meter
        self._held_by_lane = [0] * len(Lane)
        self._queues = [FairQueue() for _ in Lane]
        self._numbers = count()
        # Stride scheduling: the lowest pass is next.
        self._passes = [0] * len(Lane)
        self._last_pass = 0

    async def acquire(self, lane: Lane, work: WorkItem, turn: int) -> None:
        """Hold a slot until :meth:`release`; a caller's lowest ``turn`` goes first."""
        queue = self._queues[lane]
        # Other lanes' waiters may not have a free slot.
        if self.held < self._most and not queue and self._may_hold(lane):
            self._hold(lane)
            self._update_meter()
        else:
            if not queue:
                self._passes[lane] = max(self._passes[lane], self._last_pass)
            waiter = Waiter(turn, next(self._numbers), work.caller, asyncio.get_running_loop().create_future())
            queue.add(waiter)
            self.waiting += 1
            self._update_meter()
            work.queue.wait()
            await self._wait(lane, waiter)
        work.queue.begin()

    async def _wait(self, lane: Lane, waiter: Waiter) -> None:
        try:
            await waiter.slot
        except asyncio.CancelledError:
            if waiter.granted:  # at the same moment
                self.release(lane)
            else:
                self._queues[lane].remove(waiter)
                self.waiting -= 1
                self._grant()  # bulk may have waited for this waiter
                self._update_meter()
            raise

    def release(self, lane: Lane) -> None:
        """Give a slot to the next waiter."""
        self.held -= 1
        self._held_by_lane[lane] -= 1
        if self.waiting:
            self._grant()
        self._update_meter()

    def _hold(self, lane: Lane) -> None:
        self.held += 1
        self._held_by_lane[lane] += 1

    def _update_meter(self) -> None:
        if self._meter is None:
            return
        if self.held >= self.batch_size:
            self._meter.set_fullness(1.0)
        else:
            self._meter.set_fullness(self.held / self.batch_size if self.waiting else 0.0)

    def _may_hold(self, lane: Lane) -> bool:
        if lane in {Lane.INTERACTIVE_SHORT, Lane.STANDARD_SHORT}:
            return True
        held = self._held_by_lane
        beyond = not held[lane]  # otherwise the two shares could be full in turns for ever
        if lane.is_long and sum(held[each] for each in LONG_LANES) >= self.long_width + beyond:
            return False
        if lane < Lane.BULK_SHORT or sum(held[Lane.BULK_SHORT :]) < self.bulk_width + beyond:
            return True
        return not any(held[each] or self._queues[each] for each in URGENT_LANES)

    def _grant(self) -> None:
        while self.held < self._most and self.waiting:
            waiting = (lane for lane in Lane if self._queues[lane] and self._may_hold(lane))
            lane = min(waiting, key=self._passes.__getitem__, default=None)
            if lane is None:
                return
            self._last_pass = max(self._last_pass, self._passes[lane])  # a lane held back by its share lags behind
            self._passes[lane] += STRIDES[lane]
            self._hold(lane)
            self.waiting -= 1
            self._queues[lane].pop().grant()
