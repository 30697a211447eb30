"""Admission: which requests a model accepts (docs/decisions/0017-overload.md).

A request that can meet its deadline is accepted while
``ahead < batch_size + share x min(rate x queue_seconds, max_waiting)``, plus a long text's cost.
``ahead`` are the units in its lane and more urgent ones, of no other caller more than of this one.
"""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from math import inf
from typing import Final, Literal

from apiserver.metrics import ApiServerMetrics
from apiserver.scheduling.batch_slots import LONG_SHARE, OVERHANG, SHORT_SEGMENTS, BatchSlots
from apiserver.scheduling.queue_deadline import QUEUE_DEADLINES, QueueDeadline, QueueTimeoutError
from apiserver.scheduling.throughput import ThroughputMeter
from apiserver.scheduling.work_item import WorkItem
from shared.protocol.errors import RETRY_AFTER_MIN, OverloadedError
from shared.protocol.priority import Lane, Priority
from shared.protocol.report import ClassCapacity, ModelReport

CLASS_SHARES: Final = {Priority.INTERACTIVE: 1.0, Priority.STANDARD: 0.75, Priority.BULK: 0.5}
# Seconds; the load after a minute is unknown.
RETRY_AFTER_MAX: Final = 60.0
# Avoids a division by 0.
MIN_RATE: Final = 1e-3
# Measured: 2.1 for a batch of 25 (`make bench-origin`, D).
FULL_BATCH_SLOWDOWN: Final = 2.0
# Bounds the guessed rate, because canaries are short.
MAX_BATCHES_PER_SECOND: Final = 8


@dataclass(frozen=True, slots=True)
class QueueBounds:
    """The queueing delay to hold, and the most waiting units."""

    seconds: float
    max_waiting: int


class ModelAdmission:
    """Admission to one model; it outlives engines. One event loop.

    ``assumed_rate``: units per second until measured.
    """

    def __init__(self, batch_size: int, bounds: QueueBounds, clock: Callable[[], float]) -> None:
        self.batch_size = batch_size
        self.assumed_rate = float(batch_size)
        self.meter = ThroughputMeter(clock)
        self.texts = 0
        self._bounds = bounds
        self._clock = clock
        self._in_flight = InFlightLedger()

    @property
    def load(self) -> float:
        """Units in flight per place of the batch; above 1 some wait."""
        return self._in_flight.units_before(Lane.BULK_LONG) / self.batch_size

    def new_slots(self, batch_size: int) -> BatchSlots:
        """Return a new engine's slots; old slots cannot reach its meter."""
        self.meter = ThroughputMeter(self._clock)
        self.batch_size, self.assumed_rate = batch_size, float(batch_size)
        return BatchSlots(batch_size, overhang=max(1, batch_size // OVERHANG), meter=self.meter)

    def estimate_rate(self, canaries: int, seconds: float) -> None:
        """Guess the rate from simultaneous canaries."""
        units = max(canaries, self.batch_size / FULL_BATCH_SLOWDOWN)
        guess = min(units / seconds if seconds else math.inf, MAX_BATCHES_PER_SECOND * self.batch_size)
        self.assumed_rate = max(self.batch_size, guess)

    def ahead(self, lane: Lane, caller: str, cost: float) -> float:
        """Return the units before a further request."""
        most = self._in_flight.units_of(caller, lane) + cost
        return self._in_flight.units_before(lane, most, self.batch_size / LONG_SHARE)

    def limit(self, priority: Priority) -> float:
        """Return the most units ahead of a short request."""
        queue = min(self._rate() * self._bounds.seconds, self._bounds.max_waiting)
        return self.batch_size + CLASS_SHARES[priority] * queue

    @asynccontextmanager
    async def admitted(self, work: WorkItem) -> AsyncGenerator[None]:
        """Hold capacity, and cancel at the request's deadlines, while the block lasts.

        Raises:
            OverloadedError: no capacity, not enough time, or no slot within the queue deadline.
            DeadlineExceededError: the request's time is over.
        """
        self.admit(work)
        try:
            async with work.queue.enforced():
                yield
        except QueueTimeoutError:
            message = f"No part of the request could begin within {self._queue_seconds(work):g} s."
            ahead = self.ahead(work.lane, work.caller, 0)
            raise self._refusal(message, "queue", ahead - self.batch_size) from None
        finally:
            self.release(work)

    def admit(self, work: WorkItem) -> None:
        """Reserve capacity until :meth:`release`.

        Raises:
            OverloadedError: no capacity, or not enough time.
        """
        self._check(work)
        self._in_flight.add(work.caller, work.lane, work.cost)
        self.texts += len(work.texts)
        work.units_left, work.admitted_at = work.cost, work.deadline.clock()
        work.queue = QueueDeadline(work.deadline)

    def note_plan(self, work: WorkItem, segments: Sequence[int]) -> None:
        """Note each text's segments: a short request may not wait long."""
        work.units_per_segment = work.cost / max(1, sum(segments))
        if max(segments) <= SHORT_SEGMENTS:
            work.queue.limit(self._queue_seconds(work))

    def finish(self, work: WorkItem, units: float) -> None:
        """Free finished units at once."""
        units = min(units, work.units_left)
        if units:
            work.units_left -= units
            self._in_flight.remove(work.caller, work.lane, units)
            self.meter.done(units)

    def release(self, work: WorkItem) -> None:
        """Free a request's remaining units."""
        self.texts -= len(work.texts)
        self._in_flight.end(work.caller, work.lane, work.units_left)

    def class_capacities(self) -> dict[Priority, ClassCapacity]:
        """Return each priority's load and limit for short requests."""
        most_long, capacities = self.batch_size / LONG_SHARE, dict[Priority, ClassCapacity]()
        for priority in Priority:
            lane = Lane.of(priority, is_long=False)
            ahead = self._in_flight.units_before(lane, most_long=most_long)
            callers = self._in_flight.units_before(lane, 1.0, most_long)
            capacities[priority] = ClassCapacity(ahead=ahead, callers=callers, limit=self.limit(priority))
        return capacities

    def with_capacity(self, report: ModelReport, revision: str | None) -> ModelReport:
        """Add capacity to the engine's report."""
        update = {"capacity": self.class_capacities(), "rate": self.meter.rate, "revision": revision}
        return report.model_copy(update=update)

    def set_gauges(self, metrics: ApiServerMetrics, model: str) -> None:
        """Set the model's gauges."""
        if (rate := self.meter.rate) is not None:
            metrics.rate.labels(model).set(rate)
        for priority, capacity in self.class_capacities().items():
            metrics.ahead.labels(model, priority).set(capacity.ahead)
            metrics.limit.labels(model, priority).set(capacity.limit)

    def _queue_seconds(self, work: WorkItem) -> float:
        return QUEUE_DEADLINES[work.priority] * self._bounds.seconds

    def _check(self, work: WorkItem) -> None:
        ahead, cost = self.ahead(work.lane, work.caller, work.cost), work.cost
        limit = self.limit(work.priority) + (cost if work.lane.is_long else 0.0)
        if ahead >= limit:
            message = (
                f"This model has {ahead:.0f} cost units in flight before this request ({work.priority}), and "
                f"accepts it below {limit:.0f}."
            )
            raise self._refusal(message, "full", ahead - limit + cost)
        rate = self.meter.rate
        if rate is None or ahead <= 0:
            return
        remaining = work.deadline.remaining()
        in_time = self.batch_size + rate * remaining
        if ahead + cost <= in_time:
            return
        seconds = max(0.0, ahead + cost - self.batch_size) / max(rate, MIN_RATE)
        message = f"This request would take about {seconds:.0f} s, but has only {remaining:.1f} s."
        if cost > in_time:
            message = (
                f"This request of {cost:.0f} units is too large for the {remaining:.1f} s that it has, even without "
                f"other requests: this model does about {rate:.3g} units a second. Give it more time, or send less."
            )
        # Waiting frees no more than the units ahead.
        raise self._refusal(message, "late", min(ahead, ahead + cost - in_time))

    def _refusal(self, message: str, reason: Literal["full", "late", "queue"], units: float) -> OverloadedError:
        seconds = min(max(units / max(self._rate(), MIN_RATE), RETRY_AFTER_MIN), RETRY_AFTER_MAX)
        return OverloadedError(message, retry_after=seconds, facts={"reason": reason})

    def _rate(self) -> float:
        rate = self.meter.rate
        return self.assumed_rate if rate is None else rate


class InFlightLedger:
    """Units in flight of each caller and lane."""

    def __init__(self) -> None:
        self._units: dict[str, list[float]] = {}
        self._requests: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._units)

    def add(self, caller: str, lane: Lane, units: float) -> None:
        """Add a request."""
        self._requests[caller] = self._requests.get(caller, 0) + 1
        self._units.setdefault(caller, [0.0] * len(Lane))[lane] += units

    def remove(self, caller: str, lane: Lane, units: float) -> None:
        """Subtract finished units."""
        own = self._units[caller]
        own[lane] = max(0.0, own[lane] - units)  # rounding could make it negative

    def end(self, caller: str, lane: Lane, units: float) -> None:
        """Remove a request with its remaining units."""
        self.remove(caller, lane, units)
        self._requests[caller] -= 1
        if not self._requests[caller]:
            del self._requests[caller], self._units[caller]

    def units_of(self, caller: str, lane: Lane) -> float:
        """Return a caller's units in the lane and more urgent ones."""
        return sum(self._units.get(caller, ())[: lane + 1])

    def units_before(self, lane: Lane, most: float = inf, most_long: float = inf) -> float:
        """Return all units in the lane and more urgent ones.

        Each caller counts with at most ``most``, long texts before a short one with ``most_long``.
        """
        if lane.is_long:
            return sum(min(sum(units[: lane + 1]), most) for units in self._units.values())
        short = sum(min(sum(units[: lane + 1 : 2]), most) for units in self._units.values())
        if not lane:
            return short
        return short + min(sum(min(sum(units[1:lane:2]), most) for units in self._units.values()), most_long)
