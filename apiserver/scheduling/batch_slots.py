"""Batch slots: a fair queue in front of an engine's batch."""

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

# Long texts together hold at most one in this many places of the batch. A step's time grows with its batch, so this
# bounds how much they slow down a short text (measured: docs/benchmarks/long-texts.md).
LONG_SHARE: Final = 4
# A planned text with more segments than this is long; a sentence is often half a unit. Admission and the proxy know
# only characters (shared/protocol/priority.py).
SHORT_SEGMENTS: Final = 2 * SHORT_UNITS
# vLLM takes lower numbers first. Work has the number of its lane, and canaries go before all.
CANARY_PRIORITY: Final = -1
# One extra slot for this many of the batch: a request that waits in the engine takes a place as soon as a step frees
# it, while our next grant arrives a step later (measured: docs/benchmarks/sizing.md).
OVERHANG: Final = 8
# Bulk work holds at most one in this many slots while there is more urgent work.
BULK_SHARE: Final = 4
URGENT_LANES: Final = tuple(lane for lane in Lane if lane < Lane.BULK_SHORT)
LONG_LANES: Final = tuple(lane for lane in Lane if lane.is_long)
# While all lanes wait, the first gets this many grants for one of the lane: urgent work goes first, and none starves.
STRIDES: Final = (1, 4, 8, 16, 32, 32)


@dataclass(slots=True, order=True)
class Waiter:
    """A segment that waits for a slot, ordered by its text's turn."""

    turn: int
    number: int
    caller: str = field(compare=False)
    slot: asyncio.Future[None] = field(compare=False)
    granted: bool = field(default=False, compare=False)


class FairQueue:
    """Waiters of one lane: callers in turn, each caller's first text first.

    A caller is known only while it waits.
    """

    def __init__(self) -> None:
        self._callers: OrderedDict[str, list[Waiter]] = OrderedDict()

    def __contains__(self, caller: str) -> bool:
        """Return whether a caller waits."""
        return caller in self._callers

    def __len__(self) -> int:
        """Return the number of waiting callers."""
        return len(self._callers)

    def add(self, waiter: Waiter) -> None:
        """Add a waiter to its caller's queue."""
        insort(self._callers.setdefault(waiter.caller, []), waiter)

    def pop(self) -> Waiter:
        """Remove the next caller's first waiter; that caller becomes the last."""
        caller, waiters = self._callers.popitem(last=False)
        waiter = waiters.pop(0)
        if waiters:
            self._callers[caller] = waiters
        return waiter

    def remove(self, waiter: Waiter) -> None:
        """Remove a waiter that waits no more."""
        waiters = self._callers[waiter.caller]
        del waiters[bisect_left(waiters, waiter)]
        if not waiters:
            del self._callers[waiter.caller]


class BatchSlots:
    """The ``batch_size + overhang`` slots of one engine's batch.

    Waiters are served by lane (``STRIDES``), then callers in turn, then by the order of texts: ten long texts with
    equal shares would all end late. Admission bounds the waiters; ``meter`` gets the fullness. Mutable state: the slots
    of each lane, and the waiters. One event loop.
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
        # Stride scheduling: the waiting lane with the lowest pass is next; the lane served last had ``_last_pass``.
        self._passes = [0] * len(Lane)
        self._last_pass = 0

    async def acquire(self, lane: Lane, work: WorkItem, turn: int) -> None:
        """Wait for a slot and hold it until :meth:`release`.

        Of a caller's texts, the one with the lowest ``turn`` goes first.
        """
        queue = self._queues[lane]
        # If a slot is free, the waiters of other lanes may not have it.
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
            if waiter.granted:  # at the same moment
                self.release(lane)
            else:
                self._queues[lane].remove(waiter)
                self.waiting -= 1
                self._grant()  # bulk work may have waited because of this waiter
                self._update_meter()
            raise

    def release(self, lane: Lane) -> None:
        """Give a slot back; the next waiter gets it at once."""
        self.held -= 1
        self._held_by_lane[lane] -= 1
        if self.waiting:
            self._grant()
        self._update_meter()

    def _hold(self, lane: Lane) -> None:
        self.held += 1
        self._held_by_lane[lane] += 1

    def _update_meter(self) -> None:
        """Report how full the batch is."""
        if self._meter is None:
            return
        if self.held >= self.batch_size:
            self._meter.set_fullness(1.0)
        else:
            self._meter.set_fullness(self.held / self.batch_size if self.waiting else 0.0)

    def _may_hold(self, lane: Lane) -> bool:
        """Return whether the lane may hold one more slot, within its share.

        A lane that holds none may exceed its share by one: the shares of long texts and bulk could be full in turns
        for ever.
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
        """Grant the free slots."""
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
            if not waiter.slot.done():  # a waiter cancelled just now passes its slot on when its task runs
                waiter.slot.set_result(None)
