"""Admission: what a model takes on, in units of cost (shared/protocol/lanes.py), and a typed refusal at once for the rest. Pure.

A request is taken on while ``ahead < at_once + share x min(rate x queue_seconds, max_waiting)``:

* ``ahead`` are the units in hand of its own lane and more urgent ones (shared/protocol/lanes.py) that come before it. The slots
  serve callers in turn (apiserver/scheduling/batch_slots.py), so of each other caller no more comes before a request than its own caller
  has in hand with it; what its own caller has in hand is ahead in full. Who floods a model fills it for itself;
* ``at_once`` is what the engine runs at once (``max_num_seqs``), ``rate`` what it gets done per second when it is full
  (apiserver/scheduling/throughput.py; before that is known, a guess by the canaries);
* ``queue_seconds`` is the queueing delay to hold, ``max_waiting`` a bound on the queue whatever the rate;
* ``share`` is the class's share of the queue, so that bulk is refused first and interactive last.

So the limit follows the engine's speed, and an idle model takes any legal request. A long text may find its own cost more
ahead: who takes long may wait as long as that. What could not be done before its deadline, at the rate measured, is
refused too, unless nothing is ahead. A refusal's ``reason`` says which it was: ``full``, ``late``, or ``queue`` where no
work could begin within the queue deadline.

All callers together can have more in hand than the limit: the one with the most little more than that, the next half of
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
PATIENCE: Final = {Priority.INTERACTIVE: 5.0, Priority.STANDARD: 10.0, Priority.BULK: 20.0}
# Most seconds of a Retry-After: what a minute brings nobody knows.
RETRY_AFTER_MAX: Final = 60.0
# A rate to divide by: an engine that stands still has none.
SLOWEST_RATE: Final = 1e-3


@dataclass(frozen=True, slots=True)
class QueueBounds:
    """The queueing delay to hold, seconds, and the most units that wait whatever the rate."""

    seconds: float
    max_waiting: int


@dataclass(frozen=True, slots=True)
class AdmissionRequest:
    """What a request asks for: its class, how many texts, its cost in units, whether one of its texts is long; who asks."""

    priority: Priority
    texts: int
    cost: float
    long: bool
    caller: str = ""
    lane: Lane = field(init=False)  # where its work goes

    def __post_init__(self) -> None:
        """Find the lane once: it is asked for again and again."""
        object.__setattr__(self, "lane", Lane.of(self.priority, is_long=self.long))

    @classmethod
    def of(cls, texts: Sequence[str], priority: Priority, caller: str = "") -> AdmissionRequest:
        """Judge a request before it is planned, by its characters."""
        sizes = list(map(len, texts))
        return cls(priority, len(sizes), cost_of(sum(sizes), len(sizes)), is_long(max(sizes)), caller)


@dataclass(slots=True)
class AdmissionPermit:
    """Room that one request holds; what is done of it is room again at once."""

    demand: AdmissionRequest
    left: float
    _admission: ModelAdmission

    def done(self, units: float) -> None:
        """Note that so many of the request's units are done."""
        units = min(units, self.left)
        self.left -= units
        self._admission.drained(self.demand, units)


class ModelAdmission:
    """One model's room; mutable state: what is in hand. Never waits. Not thread-safe: one event loop."""

    def __init__(self, at_once: int, rate: ThroughputMeter, bounds: QueueBounds) -> None:
        """Take what the engine runs at once (it may turn out otherwise when the engine starts: ``at_once`` is set then).

        ``guess`` are the units per second to count with before the rate is known.
        """
        self.at_once = at_once
        self.guess = float(at_once)
        self.rate = rate
        self._bounds = bounds
        self._holdings = InFlightLedger()
        self.texts = 0

    def __repr__(self) -> str:
        """Show how full it is."""
        return f"<Admission {self._holdings} at {self._speed():.1f}/s>"

    def ahead(self, lane: Lane, caller: str, cost: float) -> float:
        """Return the units in hand that come before a further request of the caller with that cost.

        Of long texts no more goes before a short one than they may hold of the batch (apiserver/scheduling/batch_slots.py).
        """
        most = self._holdings.of(caller, lane) + cost
        return self._holdings.before(lane, most, self.at_once / LONG_SHARE)

    def limit(self, priority: Priority) -> float:
        """Return how much may be ahead of a short request of the class."""
        queue = min(self._speed() * self._bounds.seconds, self._bounds.max_waiting)
        return self.at_once + CLASS_SHARES[priority] * queue

    def patience(self, priority: Priority) -> float:
        """Return the seconds within which a request of short texts must have its first slot."""
        return PATIENCE[priority] * self._bounds.seconds

    def room(self) -> dict[Priority, ClassCapacity]:
        """Return how full the model is for short requests of each class."""
        return {priority: self._room(priority) for priority in Priority}

    @contextmanager
    def permit(self, demand: AdmissionRequest, remaining: float) -> Generator[AdmissionPermit]:
        """Hold room for a request with ``remaining`` seconds to its deadline while the block lasts.

        Raises:
            OverloadedError: there is no room now, or not enough time.
        """
        self._check(demand, remaining)
        held = AdmissionPermit(demand, demand.cost, self)
        self._holdings.add(demand.caller, demand.lane, demand.cost)
        self.texts += demand.texts
        try:
            yield held
        finally:
            self.texts -= demand.texts
            self._holdings.take(demand.caller, demand.lane, held.left)
            self._holdings.end(demand.caller)

    def drained(self, demand: AdmissionRequest, units: float) -> None:
        """Take units that are done off what is in hand."""
        self._holdings.take(demand.caller, demand.lane, units)
        self.rate.done(units)

    def unbegun(self, demand: AdmissionRequest) -> OverloadedError:
        """Return the error for a request in hand that got no slot within its patience."""
        message = f"None of the request's work could begin within {self.patience(demand.priority):g} s."
        return self._refusal(message, "queue", self.ahead(demand.lane, demand.caller, 0) - self.at_once)

    def _check(self, demand: AdmissionRequest, remaining: float) -> None:
        ahead = self.ahead(demand.lane, demand.caller, demand.cost)
        limit = self.limit(demand.priority) + (demand.cost if demand.long else 0.0)
        if ahead >= limit:
            message = (
                f"This model has {ahead:.0f} units of work in hand before this request ({demand.priority}), and takes it "
                f"on below {limit:.0f}."
            )
            raise self._refusal(message, "full", ahead - limit + demand.cost)
        rate = self.rate.value
        if rate is None or ahead <= 0:
            return
        in_time = self.at_once + rate * remaining
        if ahead + demand.cost <= in_time:
            return
        seconds = max(0.0, ahead + demand.cost - self.at_once) / max(rate, SLOWEST_RATE)
        message = f"This request would take about {seconds:.0f} s and has {remaining:.1f} s."
        if demand.cost > in_time:
            message = (
                f"This request of {demand.cost:.0f} units is too large for the {remaining:.1f} s that it has, even if "
                f"nothing were before it: this model does about {rate:.3g} units a second. Give it more time, or send less at once."
            )
        # No more than what is ahead can be waited for.
        raise self._refusal(message, "late", min(ahead, ahead + demand.cost - in_time))

    def _refusal(self, message: str, reason: Literal["full", "late", "queue"], units: float) -> OverloadedError:
        """Return the error, with the time that so many units take to drain."""
        return OverloadedError(message, retry_after=self._bounded(units), facts={"reason": reason})

    def _room(self, priority: Priority) -> ClassCapacity:
        lane = Lane.of(priority, is_long=False)
        return ClassCapacity(
            ahead=self._holdings.before(lane, most_long=self.at_once / LONG_SHARE),
            callers=self._holdings.before(lane, 1.0, self.at_once / LONG_SHARE),
            limit=self.limit(priority),
        )

    def _speed(self) -> float:
        """Return units per second, as far as known."""
        rate = self.rate.value
        return self.guess if rate is None else rate

    def _bounded(self, units: float) -> float:
        """Return the seconds that so many units take to drain, within Retry-After's bounds."""
        return min(max(units / max(self._speed(), SLOWEST_RATE), RETRY_AFTER_MIN), RETRY_AFTER_MAX)
