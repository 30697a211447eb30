"""Batch slots: our own queue for an engine's batch, so that the engine's queue stays short."""

from __future__ import annotations

import asyncio
from bisect import bisect_left, insort
from collections import OrderedDict
from dataclasses import dataclass, field
from itertools import count
from typing import Final

from apiserver.scheduling.throughput import ThroughputMeter
from apiserver.scheduling.work_item import WorkItem
from shared.protocol.priority import SHORT_UNITS, Lane

# Long texts together run at most one in so many of the requests that the engine runs at once. A step's time grows with
# its batch, so this is what a short text feels of a long one (measured: benchmarks/README.md, "Long texts").
LONG_SHARE: Final = 4
# Once it is planned, a text is long by its engine requests: more segments than this. Admission and the proxy, which know
# only characters, go by shared/protocol/priority.py; sentences are often of half a unit.
SHORT_SEGMENTS: Final = 2 * SHORT_UNITS
# vLLM takes lower numbers first: work goes by its lane's, canaries before all.
CANARY_PRIORITY: Final = -1
# One slot in so many is handed out beyond the batch: what waits in the engine itself takes the slots that a step frees,
# for our own next grant reaches it only a step later (measured: benchmarks/README.md, "Slots").
OVERHANG: Final = 8
# Bulk work holds at most one in so many of the slots while there is more urgent work; else it may fill the batch.
BULK_SHARE: Final = 4
URGENT_LANES: Final = tuple(lane for lane in Lane if lane < Lane.BULK_SHORT)
LONG_LANES: Final = tuple(lane for lane in Lane if lane.is_long)
# While all wait, a lane gets one grant where the first one gets so many: the most urgent goes first, and none starves.
STRIDES: Final = (1, 4, 8, 16, 32, 32)


@dataclass(slots=True, order=True)
class Waiter:
    """A segment that waits for a slot, in the order of its text's turn."""

    turn: int
    number: int
    caller: str = field(compare=False)
    slot: asyncio.Future[None] = field(compare=False)
    granted: bool = field(default=False, compare=False)


class FairQueue:
    """One lane's waiters: callers in turn, each with its first text first. Knows a caller only while it waits."""

    def __init__(self) -> None:
        self._callers: OrderedDict[str, list[Waiter]] = OrderedDict()

    def __contains__(self, caller: str) -> bool:
        """Say whether a caller waits."""
        return caller in self._callers

    def __len__(self) -> int:
        """Return how many callers wait."""
        return len(self._callers)

    def add(self, waiter: Waiter) -> None:
        """Put a waiter into its caller's queue."""
        insort(self._callers.setdefault(waiter.caller, []), waiter)

    def pop(self) -> Waiter:
        """Take the first waiter of the caller whose turn it is, which goes behind all others then."""
        caller, waiters = self._callers.popitem(last=False)
        waiter = waiters.pop(0)
        if waiters:
            self._callers[caller] = waiters
        return waiter

    def remove(self, waiter: Waiter) -> None:
        """Take out one that waits no more."""
        waiters = self._callers[waiter.caller]
        del waiters[bisect_left(waiters, waiter)]
        if not waiters:
            del self._callers[waiter.caller]


class BatchSlots:
    """Slots of one engine's batch; mutable state: how many each lane holds, who waits. One event loop.

    Who waits is served by lane (``STRIDES``), then callers in turn, then the text that came first: ten long texts
    shared out evenly would all end late. ``batch_size + overhang`` slots exist; admission bounds who waits, ``meter``
    learns fullness.
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
        # Stride scheduling: the waiting lane with the least pass is next. The last one that was served has this.
        self._passes = [0] * len(Lane)
        self._last_pass = 0

    async def acquire(self, lane: Lane, work: WorkItem, turn: int) -> None:
        """Wait for a slot and hold it until :meth:`release`; of a caller's texts that of the lowest turn goes first."""
        queue = self._queues[lane]
        # While a slot is free, whoever waits in another lane may not have it.
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
            work.wait()
            await self._wait(lane, waiter)
        work.begin()

    async def _wait(self, lane: Lane, waiter: Waiter) -> None:
        try:
            await waiter.slot
        except asyncio.CancelledError:
            if waiter.granted:  # in this very moment
                self.release(lane)
            else:
                self._queues[lane].remove(waiter)
                self.waiting -= 1
                self._grant()  # that was perhaps what bulk work waited for
                self._update_meter()
            raise

    def release(self, lane: Lane) -> None:
        """Give a slot back; who waits for it has it at once."""
        self.held -= 1
        self._held_by_lane[lane] -= 1
        if self.waiting:
            self._grant()
        self._update_meter()

    def _hold(self, lane: Lane) -> None:
        self.held += 1
        self._held_by_lane[lane] += 1

    def _update_meter(self) -> None:
        """Set how full the batch is; who waits while slots are free waits for a share of them."""
        if self._meter is None:
            return
        if self.held >= self.batch_size:
            self._meter.set_fullness(1.0)
        else:
            self._meter.set_fullness(self.held / self.batch_size if self.waiting else 0.0)

    def _may_hold(self, lane: Lane) -> bool:
        """Say whether the lane may hold one more of the free slots, within the shares of long texts and of bulk.

        A lane that holds none may have one beyond its share: the two shares could else be full by turns for ever.
        """
        if lane in {Lane.INTERACTIVE_SHORT, Lane.STANDARD_SHORT}:
            return True
        held = self._held_by_lane
        beyond = not held[lane]
        if lane.is_long and sum(held[each] for each in LONG_LANES) >= self.long_width + beyond:
            return False
        if lane < Lane.BULK_SHORT or sum(held[Lane.BULK_SHORT :]) < self.bulk_width + beyond:
            return True
        return not any(held[each] or self._queues[each] for each in URGENT_LANES)

    def _grant(self) -> None:
        """Hand out what is free to those who wait and may have it."""
        while self.held < self._most and self.waiting:
            waiting = (lane for lane in Lane if self._queues[lane] and self._may_hold(lane))
            lane = min(waiting, key=self._passes.__getitem__, default=None)
            if lane is None:
                return
            self._last_pass = max(self._last_pass, self._passes[lane])  # a lane held back by its share lags behind
            self._passes[lane] += STRIDES[lane]
            self._hold(lane)
            self.waiting -= 1
            waiter = self._queues[lane].pop()
            waiter.granted = True
            if not waiter.slot.done():  # cancelled just now: it hands its slot on as soon as it learns of that
                waiter.slot.set_result(None)
