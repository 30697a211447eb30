"""Admission: which requests a model accepts, by units of cost (shared/protocol/lanes.py); the rest is refused at once.

A request is accepted while ``ahead < batch_size + share x min(rate x queue_seconds, max_waiting)``:

* ``ahead`` are the units in flight of its own lane and more urgent ones (shared/protocol/lanes.py) that come before it. The slots
  serve callers in turn (apiserver/scheduling/batch_slots.py), so of each other caller no more comes before a request than its own caller
  has in flight with it; what its own caller has in hand is ahead in full. Who floods a model fills it for itself;
* ``batch_size`` is what the engine runs at once (``max_num_seqs``), ``rate`` what it gets done per second when it is full
  (apiserver/scheduling/throughput.py; before that is known, a guess by the canaries);
* ``queue_seconds`` is the queueing delay to hold, ``max_waiting`` a bound on the queue whatever the rate;
* ``share`` is the class's share of the queue, so that bulk is refused first and interactive last.

So the limit follows the engine's speed, and an idle model takes any legal request. A long text may find its own cost more
ahead: who takes long may wait as long as that. What could not be done before its deadline, at the rate measured, is
refused too, unless nothing is ahead. A refusal's ``reason`` says which it was: ``full``, ``late``, or ``queue`` where no
work could begin within the queue deadline.

All callers together can have more in flight than the limit: the one with the most little more than that, the next half of
it, the third a third, and so on, each with one request beyond; no more callers than the limit has units.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final, Literal

from apiserver.scheduling.batch_slots import LONG_SHARE
from apiserver.scheduling.in_flight import InFlightLedger
from apiserver.scheduling.throughput import ThroughputMeter
from shared.protocol.errors import RETRY_AFTER_MIN, OverloadedError
from shared.protocol.lanes import Lane, cost_of, is_long
from shared.protocol.priority import Priority
from shared.protocol.report import ClassCapacity

CLASS_SHARES: Final = {Priority.INTERACTIVE: 1.0, Priority.STANDARD: 0.75, Priority.BULK: 0.5}
# Queue deadline: so many times ``queue_seconds`` may a request be without any slot before it is refused after all. The
# delay held is that of an engine at its measured rate; this is for one that became slower meanwhile, and for classes
# that others go before. Long texts wait for theirs until their deadline.
QUEUE_DEADLINES: Final = {Priority.INTERACTIVE: 5.0, Priority.STANDARD: 10.0, Priority.BULK: 20.0}
# Most seconds of a Retry-After: what a minute brings nobody knows.
RETRY_AFTER_MAX: Final = 60.0
# A rate to divide by: an engine that stands still has none.
MIN_RATE: Final = 1e-3


@dataclass(frozen=True, slots=True)
class QueueBounds:
    """The queueing delay to hold, seconds, and the most units that wait whatever the rate."""

    seconds: float
    max_waiting: int


@dataclass(frozen=True, slots=True)
class AdmissionRequest:
    """A request to be admitted: its class, number of texts, cost in units, whether a text is long; its caller."""

    priority: Priority
    texts: int
    cost: float
    long: bool
    caller: str = ""
    lane: Lane = field(init=False)  # where its work goes

    def __post_init__(self) -> None:
        """Compute the lane once: it is used again and again."""
        object.__setattr__(self, "lane", Lane.of(self.priority, is_long=self.long))

    @classmethod
    def of(cls, texts: Sequence[str], priority: Priority, caller: str = "") -> AdmissionRequest:
        """Judge a request before it is planned, by its characters."""
        sizes = list(map(len, texts))
        return cls(priority, len(sizes), cost_of(sum(sizes), len(sizes)), is_long(max(sizes)), caller)


@dataclass(slots=True)
class AdmissionPermit:
    """Capacity that one request holds; what is done of it is free again at once."""

    request: AdmissionRequest
    units_left: float
    _admission: ModelAdmission

    def done(self, units: float) -> None:
        """Note that so many of the request's units are done."""
        units = min(units, self.units_left)
        self.units_left -= units
        self._admission.finish(self.request, units)


class ModelAdmission:
    """One model's admission; mutable state: what is in flight. Never waits. Not thread-safe: one event loop.

    ``batch_size`` is what the engine runs at once (set again when it turns out otherwise at the engine's start),
    ``assumed_rate`` the units per second to count with before the rate is known.
    """

    def __init__(self, batch_size: int, meter: ThroughputMeter, bounds: QueueBounds) -> None:
        self.batch_size = batch_size
        self.assumed_rate = float(batch_size)
        self.meter = meter
        self._bounds = bounds
        self._in_flight = InFlightLedger()
        self.texts = 0

    def __repr__(self) -> str:
        """Show how full it is."""
        return f"<ModelAdmission {self._in_flight} at {self._rate():.1f}/s>"

    def ahead(self, lane: Lane, caller: str, cost: float) -> float:
        """Return the units in flight that come before a further request of the caller with that cost.

        Of long texts no more goes before a short one than they may hold of the batch (apiserver/scheduling/batch_slots.py).
        """
        most = self._in_flight.units_of(caller, lane) + cost
        return self._in_flight.units_before(lane, most, self.batch_size / LONG_SHARE)

    def limit(self, priority: Priority) -> float:
        """Return how much may be ahead of a short request of the class."""
        queue = min(self._rate() * self._bounds.seconds, self._bounds.max_waiting)
        return self.batch_size + CLASS_SHARES[priority] * queue

    def queue_deadline(self, priority: Priority) -> float:
        """Return the seconds within which a request of short texts must have its first slot."""
        return QUEUE_DEADLINES[priority] * self._bounds.seconds

    def class_capacities(self) -> dict[Priority, ClassCapacity]:
        """Return how full the model is for short requests of each class."""
        return {priority: self._class_capacity(priority) for priority in Priority}

    @contextmanager
    def admit(self, request: AdmissionRequest, remaining: float) -> Generator[AdmissionPermit]:
        """Hold capacity for a request with ``remaining`` seconds to its deadline while the block lasts.

        Raises:
            OverloadedError: there is no capacity now, or not enough time.
        """
        self._check(request, remaining)
        permit = AdmissionPermit(request, request.cost, self)
        self._in_flight.add(request.caller, request.lane, request.cost)
        self.texts += request.texts
        try:
            yield permit
        finally:
            self.texts -= request.texts
            self._in_flight.remove(request.caller, request.lane, permit.units_left)
            self._in_flight.end(request.caller)

    def finish(self, request: AdmissionRequest, units: float) -> None:
        """Remove units that are done from what is in flight."""
        self._in_flight.remove(request.caller, request.lane, units)
        self.meter.done(units)

    def queue_timeout(self, request: AdmissionRequest) -> OverloadedError:
        """Return the error for an admitted request that got no slot within its queue deadline."""
        message = f"None of the request's work could begin within {self.queue_deadline(request.priority):g} s."
        return self._refusal(message, "queue", self.ahead(request.lane, request.caller, 0) - self.batch_size)

    def _check(self, request: AdmissionRequest, remaining: float) -> None:
        ahead = self.ahead(request.lane, request.caller, request.cost)
        limit = self.limit(request.priority) + (request.cost if request.long else 0.0)
        if ahead >= limit:
            message = (
                f"This model has {ahead:.0f} units of work in hand before this request ({request.priority}), and takes it "
                f"on below {limit:.0f}."
            )
            raise self._refusal(message, "full", ahead - limit + request.cost)
        rate = self.meter.rate
        if rate is None or ahead <= 0:
            return
        in_time = self.batch_size + rate * remaining
        if ahead + request.cost <= in_time:
            return
        seconds = max(0.0, ahead + request.cost - self.batch_size) / max(rate, MIN_RATE)
        message = f"This request would take about {seconds:.0f} s and has {remaining:.1f} s."
        if request.cost > in_time:
            message = (
                f"This request of {request.cost:.0f} units is too large for the {remaining:.1f} s that it has, even if "
                f"nothing were before it: this model does about {rate:.3g} units a second. Give it more time, or send less at once."
            )
        # No more than what is ahead can be waited for.
        raise self._refusal(message, "late", min(ahead, ahead + request.cost - in_time))

    def _refusal(self, message: str, reason: Literal["full", "late", "queue"], units: float) -> OverloadedError:
        """Return the error, with the time that so many units take to drain."""
        return OverloadedError(message, retry_after=self._bounded(units), facts={"reason": reason})

    def _class_capacity(self, priority: Priority) -> ClassCapacity:
        lane = Lane.of(priority, is_long=False)
        return ClassCapacity(
            ahead=self._in_flight.units_before(lane, most_long=self.batch_size / LONG_SHARE),
            callers=self._in_flight.units_before(lane, 1.0, self.batch_size / LONG_SHARE),
            limit=self.limit(priority),
        )

    def _rate(self) -> float:
        """Return units per second, as far as known."""
        rate = self.meter.rate
        return self.assumed_rate if rate is None else rate

    def _bounded(self, units: float) -> float:
        """Return the seconds that so many units take to drain, within Retry-After's bounds."""
        return min(max(units / max(self._rate(), MIN_RATE), RETRY_AFTER_MIN), RETRY_AFTER_MAX)
