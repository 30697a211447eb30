"""Statistics of one replica, and of each pair that it serves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import InitVar, dataclass, field
from random import Random
from typing import Final

from proxy.balancing.balancer import SLOW_START_SECONDS
from proxy.balancing.capacity import CapacityTracker
from proxy.balancing.circuit_breaker import CircuitBreaker, CircuitPermit
from proxy.balancing.latency import PeakEwma
from proxy.fleet.replica import Replica
from proxy.request_cost import RequestCost
from shared.languages import LanguagePair
from shared.protocol.priority import Lane
from shared.protocol.report import ModelReport

# What a failure in a row adds to a replica's score, so that one that fails at once is no magnet; a canary that passes
# takes it back at once, time in the end.
PENALTY_SECONDS: Final = 1.0
PENALTY_LIFE_SECONDS: Final = 5.0
# A replica that was out and is well again needs no new engine: it starts further up the slow start than a newcomer.
RETURN_SECONDS: Final = 1.0
# A full replica may ask clients to wait for longer; whether it is still full, the next report says.
LONGEST_BACK_PRESSURE_SECONDS: Final = 1.0
# A report is so old at most when it arrives: what ended meanwhile was still in flight when it was made.
REPORT_AGE_SECONDS: Final = 0.1


class InFlightRequest:
    """One request in flight, since ``started`` (monotonic seconds); its latency goes by ``work``.

    ``on_lost`` is called when its replica is lost; ``rank`` and ``model`` are those of the model that serves the pair.
    """

    __slots__ = ("cost", "model", "on_lost", "rank", "started", "work")

    def __init__(self, rank: int, model: str, started: float, cost: RequestCost, on_lost: Callable[[], None]) -> None:
        self.rank = rank
        self.model = model
        self.started = started
        self.cost = cost
        self.work = cost.work
        self.on_lost = on_lost


@dataclass(eq=False, slots=True)
class PairReplicaStats:
    """How a replica does with one pair, and since when.

    Mutable state: breaker, latency, failures in a row, whether it refused the pair, requests in flight (``oldest`` of
    them), the last progress, whether it is stalled, and before when no canary is to be sent.
    """

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
    _reset_at: float = 0.0  # what began before says nothing of how it is now

    def __post_init__(self, rng: Random) -> None:
        self.breaker, self.latency = CircuitBreaker(self._clock, rng), PeakEwma(self._clock)
        self.joined_at = self.progressed_at = self._clock()

    @property
    def penalty(self) -> float:
        """Seconds that recent failures add to its score."""
        left = 1 - (self._clock() - self.failed_at) / PENALTY_LIFE_SECONDS if self.failures else 0.0
        return self.failures * PENALTY_SECONDS * max(0.0, left)

    @property
    def is_out(self) -> bool:
        """Whether only a trial may go there."""
        return self.breaker.opened_at is not None

    def add(self, request: InFlightRequest) -> None:
        """Count a request as in flight."""
        self.in_flight[request] = None
        self.oldest = self.oldest or request
        self.replica.add(request)

    def remove(self, request: InFlightRequest) -> None:
        """Count it no longer."""
        del self.in_flight[request]
        if self.oldest is request:
            self.oldest = next(iter(self.in_flight), None)
        self.replica.remove(request)

    def record_success(self, permit: CircuitPermit | None) -> None:
        """Note that it did what it should; a success that no breaker permitted is as good as a canary."""
        was_out = self.is_out
        self._clear_failures()
        if permit is None:
            self.breaker.canary_passed()
        else:
            self.breaker.record_success(permit)
        if was_out and not self.is_out:
            self.joined_at = self._clock() - max(0.0, SLOW_START_SECONDS - RETURN_SECONDS)

    def record_failure(self, permit: CircuitPermit | None, reason: str, *, at_once: bool = False) -> None:
        """Note a failure and its reason; one without a permit only counts against its score."""
        self.failures += 1
        self.failed_with = reason
        self.failed_at = self._clock()
        if permit is not None:
            self.breaker.record_failure(permit, at_once=at_once)

    def record_refusal(self, permit: CircuitPermit | None, reason: str) -> None:
        """Note that it refuses the pair, until something succeeds there."""
        self.refused = True
        self.record_failure(permit, reason, at_once=True)

    def record_progress(self) -> None:
        """Note a sign of life."""
        self.progressed_at = self._clock()
        self.is_stalled = False

    def record_latency(self, request: InFlightRequest) -> float:
        """Note how long a request took; return the average seconds per unit of work."""
        if request.started >= self._reset_at:
            return self.latency.observe((self._clock() - request.started) / request.work)
        return self.latency.value or 0.0

    def record_minimum_latency(self, request: InFlightRequest) -> None:
        """Note how long a request had taken when it was given up: never good news."""
        seconds = (self._clock() - request.started) / request.work
        if request.started >= self._reset_at and seconds > (self.latency.value or 0.0):
            self.latency.observe(seconds)

    def release(self, permit: CircuitPermit | None) -> None:
        """Return a permit without an outcome."""
        if permit is not None:
            self.breaker.release(permit)

    def canary_passed(self, seconds_per_unit: float) -> None:
        """Note a canary that came back right: what began before no longer counts, and a back-off is over."""
        self._clear_failures()
        self.latency.reset(seconds_per_unit)
        self._reset_at = self._clock()
        self.breaker.canary_passed()

    def canary_failed(self) -> None:
        """Note a canary that failed: as bad as a request that did, but that it lengthens no back-off."""
        if self.is_out:
            self.breaker.canary_failed()
            self.record_failure(None, self.failed_with)
        else:
            self.record_failure(self.breaker.acquire(), "canary failed")

    def mark_stalled(self) -> None:
        """Note that it stands still, and notify the requests that it holds."""
        self.is_stalled = True
        self.notify_lost()

    def notify_lost(self) -> None:
        """Notify the requests that it holds that it is lost."""
        for request in list(self.in_flight):
            request.on_lost()

    def _clear_failures(self) -> None:
        self.failures = 0
        self.refused = False
        self.record_progress()


@dataclass(eq=False, slots=True)
class ReplicaStats:
    """Statistics of one replica: load, full lanes, capacity and pairs.

    Mutable state, changed by its methods only. ``foreign_texts`` are those there that are not ours, by the last report.
    """

    requests: int = 0
    work: float = 0.0
    texts: int = 0
    foreign_texts: int = 0
    weight: float = 1.0
    capacity: CapacityTracker = field(default_factory=CapacityTracker)
    full_until: dict[Lane, float] = field(default_factory=dict[Lane, float])  # until when each is to be left alone
    replica_id: str | None = None
    pairs: dict[LanguagePair, PairReplicaStats] = field(default_factory=dict[LanguagePair, PairReplicaStats])
    _models: Mapping[str, ModelReport] = field(default_factory=dict[str, ModelReport])
    _reported_at: float | None = None
    _ours_at_report: int = 0
    _peak: int = 0
    _previous_peak: int = 0
    _peak_since: float = 0.0

    def update(self, replica: Replica, now: float) -> None:
        """Take in what a Snapshot says of it."""
        self.weight = replica.weight
        if replica.report is None:
            return
        is_new = replica.reported_at != self._reported_at
        if is_new or replica.report.models is not self._models:
            self._models = replica.report.models
            self.capacity.update(self._models, is_new=is_new)
        if is_new:
            self._reported_at, self._ours_at_report = replica.reported_at, self.peak_texts(now)
        self.foreign_texts = max(0, replica.report.in_flight - self._ours_at_report)

    def forget_outdated(self, replica: Replica) -> list[LanguagePair]:
        """Drop and return the pairs whose statistics no longer apply.

        All of them where it is another process than before: the requests that it held are notified. Else those that are
        not ready, but for those that it holds requests of: it may be DOWN, and then they are notified.
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
        """Say whether it asked this lane to stay away until later."""
        return now < self.full_until.get(lane, 0.0)

    def mark_full(self, lane: Lane, now: float, seconds: float) -> None:
        """Note that it is full for a lane, for so many seconds."""
        self.full_until[lane] = now + min(seconds, LONGEST_BACK_PRESSURE_SECONDS)

    def add(self, request: InFlightRequest) -> None:
        """Count a request as in flight."""
        self.requests += 1
        self.work += request.work
        self.texts += request.cost.texts
        self.capacity.add(request.model, request.cost, request.cost.units)
        self._peak = max(self.peak_texts(request.started), self.texts)

    def remove(self, request: InFlightRequest) -> None:
        """Count it no longer."""
        self.requests -= 1
        self.texts -= request.cost.texts
        self.capacity.add(request.model, request.cost, -request.cost.units)
        # What floating point leaves over must not add up.
        self.work = self.work - request.work if self.requests else 0.0

    def peak_texts(self, now: float) -> int:
        """Return the most texts in flight in the last ``REPORT_AGE_SECONDS``, or up to twice as long."""
        if now - self._peak_since >= REPORT_AGE_SECONDS:
            lately = now - self._peak_since < 2 * REPORT_AGE_SECONDS
            self._peak_since, self._previous_peak, self._peak = now, self._peak if lately else self.texts, self.texts
        return max(self._peak, self._previous_peak, self.texts)
