"""Statistics of one replica and of its pairs: requests, latency, capacity."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import InitVar, dataclass, field
from math import exp
from random import Random
from typing import Final, NamedTuple

from proxy.balancing.circuit_breaker import BreakerState, CircuitBreaker, CircuitPermit
from proxy.call import RequestCost
from proxy.fleet.replica import Replica
from shared.languages import LanguagePair
from shared.protocol.priority import Lane, Priority
from shared.protocol.report import ModelReport

# Good samples, or silence, reduce a bad one to 1/e in these times (docs/decisions/0013-balancing.md).
DECAY_SECONDS: Final = 2.0
SILENCE_SECONDS: Final = 10.0
# A new replica's caches are cold for this time.
SLOW_START_SECONDS: Final = 3.0
# For each failure in a row: a replica that fails fast looks fast.
PENALTY_SECONDS: Final = 1.0
PENALTY_LIFE_SECONDS: Final = 5.0
# A recovered replica is warm: it gets only this last part of the slow start.
RETURN_SECONDS: Final = 1.0
# Canaries follow each other in less: after it none tries the replica, and its last failure says nothing of now.
UNTRIED_SECONDS: Final = 5.0
# The next report says whether a replica is still full.
LONGEST_BACK_PRESSURE_SECONDS: Final = 1.0
# Greatest age of an arriving report, which counts requests that ended meanwhile.
REPORT_AGE_SECONDS: Final = 0.1


class Capacity(NamedTuple):
    """Load and limit of a model, in cost units.

    ``ahead``: units ahead of a request; ``callers``: those if its caller has none in flight; ``rate``: units per
    second.
    """

    ahead: float
    callers: float
    limit: float
    rate: float | None


class CapacityTracker:
    """Capacity of one replica's models for short requests.

    Lists are by priority rank; a request counts for its own priority and all less urgent ones.
    """

    __slots__ = ("_reported", "added_units")

    def __init__(self) -> None:
        self._reported: dict[str, tuple[Capacity | None, ...]] = {}
        self.added_units: dict[str, list[float]] = {}

    def update(self, models: Mapping[str, ModelReport], *, is_new: bool) -> None:
        """Apply a report; a new one includes the added units."""
        if is_new:
            self.added_units = {}
        self._reported = {name: tuple(_capacity(report, each) for each in Priority) for name, report in models.items()}

    def add(self, model: str, cost: RequestCost, units: float) -> None:
        """Add a request's units; negative units remove them."""
        if cost.is_long:  # long requests have their own share of the batch
            return
        added = self.added_units.get(model)
        if added is None:
            added = self.added_units[model] = [0.0] * len(Priority)
        for rank in range(cost.priority.rank, len(added)):
            added[rank] += units

    def of(self, model: str, rank: int) -> Capacity | None:
        """Return a model's capacity, or None if not reported."""
        by_rank = self._reported.get(model)
        capacity = None if by_rank is None else by_rank[rank]
        added = self.added_units.get(model)
        if capacity is None or added is None:
            return capacity
        ahead, callers, limit, rate = capacity
        return Capacity(max(0.0, ahead + added[rank]), callers, limit, rate)

    def is_full(self, model: str, rank: int) -> bool:
        """Return whether a model is at its limit."""
        by_rank = self._reported.get(model)
        capacity = None if by_rank is None else by_rank[rank]
        if capacity is None:
            return False
        added = self.added_units.get(model)
        return not capacity.limit or capacity.ahead + (added[rank] if added else 0.0) >= capacity.limit


def _capacity(report: ModelReport, priority: Priority) -> Capacity | None:
    reported = report.capacity.get(priority)
    if reported is None:
        return None
    return Capacity(reported.ahead, reported.callers, reported.limit, report.rate)


@dataclass(eq=False, slots=True)
class PeakEwma:
    """Average seconds per unit of work: rises at once, falls with time.

    A hung replica gives no samples: callers must use its oldest request's age, per unit of work, if larger.
    """

    _clock: Callable[[], float]
    _value: float = 0.0
    _observed_at: float | None = None

    @property
    def value(self) -> float | None:
        """The current average; None before the first sample."""
        return self.at(self._clock())

    def at(self, now: float) -> float | None:
        """Return the average at a time."""
        if self._observed_at is None:
            return None
        return self._value * exp((self._observed_at - now) / SILENCE_SECONDS)

    @property
    def last(self) -> float | None:
        """The average as of the last sample; None before the first."""
        return None if self._observed_at is None else self._value

    def observe(self, seconds_per_unit: float) -> float:
        """Add one sample; return the average."""
        now = self._clock()
        if self._observed_at is None:
            self._value = seconds_per_unit
        else:
            kept = exp((self._observed_at - now) / DECAY_SECONDS)
            self._value = max(seconds_per_unit, self._value * kept + seconds_per_unit * (1 - kept))
        self._observed_at = now
        return self._value

    def reset(self, seconds_per_unit: float) -> None:
        """Replace the average."""
        self._value = seconds_per_unit
        self._observed_at = self._clock()


def do_nothing() -> None:
    """Tell nobody that a replica is lost."""


class InFlightRequest:
    """One request since ``started``; ``on_lost`` hears of a DOWN or stalled replica."""

    __slots__ = ("cost", "model", "on_lost", "rank", "started", "work")

    def __init__(self, rank: int, model: str, started: float, cost: RequestCost) -> None:
        self.rank = rank
        self.model = model
        self.started = started
        self.cost = cost
        self.work = cost.work
        self.on_lost: Callable[[], None] = do_nothing


@dataclass(eq=False, slots=True)
class PairReplicaStats:
    """Statistics of a replica for one pair."""

    replica: ReplicaStats
    _clock: Callable[[], float]
    rng: InitVar[Random]
    breaker: CircuitBreaker = field(init=False)
    latency: PeakEwma = field(init=False)
    joined_at: float = field(init=False)
    progressed_at: float = field(init=False)
    failed_at: float = 0.0
    failed_with: str = ""
    failures: int = 0
    refused: bool = False
    is_stalled: bool = False
    canary_due_at: float = 0.0
    in_flight: dict[InFlightRequest, None] = field(default_factory=dict[InFlightRequest, None])  # the oldest first
    oldest: InFlightRequest | None = None
    _reset_at: float = 0.0  # earlier requests' latencies are ignored

    def __post_init__(self, rng: Random) -> None:
        self.breaker, self.latency = CircuitBreaker(self._clock, rng), PeakEwma(self._clock)
        self.joined_at = self.progressed_at = self._clock()

    @property
    def penalty(self) -> float:
        """Seconds that recent failures add to the score."""
        left = 1 - (self._clock() - self.failed_at) / PENALTY_LIFE_SECONDS if self.failures else 0.0
        return self.failures * PENALTY_SECONDS * max(0.0, left)

    @property
    def is_out(self) -> bool:
        """Whether the replica gets only trials."""
        return self.breaker.opened_at is not None

    @property
    def is_failing(self) -> bool:
        """Whether it stalls, or fails.

        It fails with an open breaker, or while canaries try it in vain.

        One that is half-open and that nobody tries is ready to be tried.
        """
        is_tried = self._clock() < max(self.canary_due_at, self.failed_at) + UNTRIED_SECONDS
        fails = self.breaker.state is BreakerState.OPEN or (self.is_out and is_tried)
        return self.is_stalled or (fails and self.failures > 0)

    def add(self, request: InFlightRequest) -> None:
        """Count a request as in flight."""
        self.in_flight[request] = None
        self.oldest = self.oldest or request
        self.replica.add(request)

    def remove(self, request: InFlightRequest) -> None:
        """Count a request as ended."""
        del self.in_flight[request]
        if self.oldest is request:
            self.oldest = next(iter(self.in_flight), None)
        self.replica.remove(request)

    def record_success(self, permit: CircuitPermit | None) -> None:
        """Record a success; without a permit, like a good canary."""
        was_out = self.is_out
        self._clear_failures()
        if permit is None:
            self.breaker.canary_passed()
        else:
            self.breaker.record_success(permit)
        if was_out and not self.is_out:
            self.joined_at = self._clock() - max(0.0, SLOW_START_SECONDS - RETURN_SECONDS)

    def record_failure(self, permit: CircuitPermit | None, reason: str, *, at_once: bool = False) -> None:
        """Record a failure; without a permit it counts only for the score."""
        self.failures += 1
        self.failed_with = reason
        self.failed_at = self._clock()
        if permit is not None:
            self.breaker.record_failure(permit, at_once=at_once)

    def record_progress(self) -> None:
        """Record progress, which ends a stall."""
        self.progressed_at = self._clock()
        self.is_stalled = False

    def record_latency(self, request: InFlightRequest) -> float:
        """Record a request's latency; return the average."""
        if request.started >= self._reset_at:
            return self.latency.observe((self._clock() - request.started) / request.work)
        return self.latency.value or 0.0

    def record_minimum_latency(self, request: InFlightRequest) -> None:
        """Record an abandoned request's age if it raises the average."""
        seconds = (self._clock() - request.started) / request.work
        if request.started >= self._reset_at and seconds > (self.latency.value or 0.0):
            self.latency.observe(seconds)

    def release(self, permit: CircuitPermit | None) -> None:
        """Return a permit without an outcome."""
        if permit is not None:
            self.breaker.release(permit)

    def canary_passed(self, seconds_per_unit: float) -> None:
        """Record a good canary: earlier requests no longer count."""
        self._clear_failures()
        self.latency.reset(seconds_per_unit)
        self._reset_at = self._clock()
        self.breaker.canary_passed()

    def canary_failed(self) -> None:
        """Record a failed canary, which lengthens no back-off."""
        if self.is_out:
            self.breaker.canary_failed()
            self.record_failure(None, self.failed_with)
        else:
            self.record_failure(self.breaker.acquire(), "canary failed")

    def notify_lost(self) -> None:
        """Notify the requests of the loss."""
        for request in list(self.in_flight):
            request.on_lost()

    def _clear_failures(self) -> None:
        self.failures = 0
        self.refused = False
        self.record_progress()


@dataclass(eq=False, slots=True)
class ReplicaStats:
    """Statistics of one replica; ``foreign_texts``: other proxies', by the last report."""

    requests: int = 0
    work: float = 0.0
    texts: int = 0
    foreign_texts: int = 0
    weight: float = 1.0
    capacity: CapacityTracker = field(default_factory=CapacityTracker)
    full_until: dict[Lane, float] = field(default_factory=dict[Lane, float])
    replica_id: str | None = None
    pairs: dict[LanguagePair, PairReplicaStats] = field(default_factory=dict[LanguagePair, PairReplicaStats])
    _models: Mapping[str, ModelReport] = field(default_factory=dict[str, ModelReport])
    _reported_at: float | None = None
    _ours_at_report: int = 0
    _peak: int = 0
    _previous_peak: int = 0
    _peak_since: float = 0.0

    def update(self, replica: Replica, now: float) -> None:
        """Apply the replica's state in a snapshot."""
        self.weight = replica.weight
        if replica.report is None:
            return
        is_new = replica.reported_at != self._reported_at
        if is_new or replica.report.models is not self._models:
            self._models = replica.report.models
            self.capacity.update(self._models, is_new=is_new)
        if is_new:
            self._reported_at, self._ours_at_report = replica.reported_at, self.update_peak(now)
        self.foreign_texts = max(0, replica.report.in_flight - self._ours_at_report)

    def forget_outdated(self, replica: Replica) -> list[LanguagePair]:
        """Drop and return outdated pairs.

        If another process replaced the replica: all, notifying their requests; else those neither ready nor in use.
        """
        if replica.report is None:
            return []
        if replica.report.replica_id != self.replica_id:
            self.replica_id = replica.report.replica_id
            self.full_until.clear()
            for stats in self.pairs.values():
                stats.notify_lost()
            outdated = list(self.pairs)
        else:
            reported = replica.report.pairs.by_pair if self.pairs else ()
            outdated = [
                pair
                for pair, stats in self.pairs.items()
                if not stats.in_flight and pair in reported and not replica.serves(pair)
            ]
        for pair in outdated:
            del self.pairs[pair]
        return outdated

    def is_full(self, now: float, lane: Lane) -> bool:
        """Return whether the lane is full."""
        return now < self.full_until.get(lane, 0.0)

    def mark_full(self, lane: Lane, now: float, seconds: float) -> None:
        """Mark a lane as full, for one second at most."""
        self.full_until[lane] = now + min(seconds, LONGEST_BACK_PRESSURE_SECONDS)

    def add(self, request: InFlightRequest) -> None:
        """Count a request as in flight."""
        self.requests += 1
        self.work += request.work
        self.texts += request.cost.texts
        self.capacity.add(request.model, request.cost, request.cost.units)
        self._peak = max(self.update_peak(request.started), self.texts)

    def remove(self, request: InFlightRequest) -> None:
        """Count a request as ended."""
        self.requests -= 1
        self.texts -= request.cost.texts
        self.capacity.add(request.model, request.cost, -request.cost.units)
        # Rounding errors must not add up.
        self.work = self.work - request.work if self.requests else 0.0

    def update_peak(self, now: float) -> int:
        """Update and return the most texts in flight in the last ``REPORT_AGE_SECONDS``."""
        if now - self._peak_since >= REPORT_AGE_SECONDS:
            lately = now - self._peak_since < 2 * REPORT_AGE_SECONDS
            self._peak_since, self._previous_peak, self._peak = now, self._peak if lately else self.texts, self.texts
        return max(self._peak, self._previous_peak, self.texts)
