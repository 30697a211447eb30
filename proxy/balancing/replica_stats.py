"""What this proxy has seen of one replica by itself: what is in flight there, and how it does with each pair. Pure."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Final

from proxy.balancing.capacity import Capacity, CapacityTracker
from proxy.balancing.circuit_breaker import CircuitBreaker, CircuitPermit
from proxy.balancing.latency import PeakEwma
from proxy.fleet.replica import Replica
from proxy.request_cost import RequestCost
from shared.languages import LanguagePair
from shared.protocol.lanes import Lane
from shared.protocol.priority import Priority
from shared.protocol.report import ModelReport

# What a failure in a row adds to a replica's score: more than any healthy answer's difference, so that a replica that
# fails at once is no magnet. A canary that passes takes it back at once, time takes it back in the end.
PENALTY_SECONDS: Final = 1.0
PENALTY_LIFE_SECONDS: Final = 5.0
# What a full replica asks a client to wait may be long, so that not all come back at once; whether it is still full, the
# next report says.
LONGEST_BACK_PRESSURE_SECONDS: Final = 1.0
# A report is some milliseconds old when it arrives, and this at most where the network is well: what ended meanwhile was
# still in flight when it was made.
REPORT_AGE_SECONDS: Final = 0.1


@dataclass(slots=True, eq=False)  # not frozen: that makes it three times slower to make
class InFlightRequest:
    """One request in flight, since ``started`` (monotonic seconds): how heavy it is, and whom to tell of its loss.

    ``rank`` and ``model`` are those of the model that serves the pair there.
    """

    pair: LanguagePair
    rank: int
    model: str
    started: float
    freight: RequestCost
    lost: Callable[[], None]

    @property
    def work(self) -> float:
        """What its latency goes by."""
        return self.freight.work


class PairReplicaStats:
    """How a replica does with one pair, and since when it serves it.

    Mutable state: breaker, latency, failures in a row, whether it refused the pair, requests in flight, the last progress
    and whether it stands still.
    """

    __slots__ = (
        "_clock",
        "breaker",
        "canary_due",
        "failed_at",
        "failed_with",
        "failures",
        "joined_at",
        "latency",
        "oldest",
        "progressed_at",
        "refused",
        "replica",
        "reset_at",
        "stalls",
        "tickets",
    )

    def __init__(self, replica: ReplicaStats, clock: Callable[[], float], rng: Random) -> None:
        """Begin with nothing known: a newcomer; ``replica`` is the standing that this is a part of."""
        self._clock = clock
        self.replica = replica
        self.failed_at = 0.0
        self.failed_with = ""
        self.breaker = CircuitBreaker(clock, rng)
        self.latency = PeakEwma(clock)
        self.failures = 0
        self.refused = False
        self.stalls = False
        self.canary_due = 0.0
        self.reset_at = 0.0  # what began before says nothing of how it is now
        self.joined_at = self.progressed_at = clock()
        self.tickets: OrderedDict[int, InFlightRequest] = OrderedDict()
        self.oldest: InFlightRequest | None = None  # of those

    @property
    def penalty(self) -> float:
        """Seconds that recent failures add to its score."""
        left = 1 - (self._clock() - self.failed_at) / PENALTY_LIFE_SECONDS if self.failures else 0.0
        return self.failures * PENALTY_SECONDS * max(0.0, left)

    @property
    def is_out(self) -> bool:
        """Whether only a trial may go there."""
        return self.breaker.opened_at is not None

    def well(self) -> None:
        """Note that it does what it should."""
        self.failures = 0
        self.refused = False
        self.progresses()

    def progresses(self) -> None:
        """Note a sign of life."""
        self.progressed_at = self._clock()
        self.stalls = False

    def took(self, ticket: InFlightRequest) -> None:
        """Note how long a request took."""
        if ticket.started >= self.reset_at:
            self.latency.observe((self._clock() - ticket.started) / ticket.work)

    def took_at_least(self, ticket: InFlightRequest) -> None:
        """Note how long a request had taken when it was given up: more than that, so it is never good news."""
        seconds = (self._clock() - ticket.started) / ticket.work
        if ticket.started >= self.reset_at and seconds > (self.latency.value or 0.0):
            self.latency.observe(seconds)

    def reset(self, seconds_per_unit: float) -> None:
        """Note that a canary passed: only what begins from now on counts."""
        self.well()
        self.latency.reset(seconds_per_unit)
        self.reset_at = self._clock()

    def ill(self, permit: CircuitPermit | None, what: str, *, at_once: bool = False) -> None:
        """Note a failure, and what it was; one without a permit (nobody else was left) only counts against its score."""
        self.failures += 1
        self.failed_with = what
        self.failed_at = self._clock()
        if permit is not None:
            self.breaker.failure(permit, at_once=at_once)


class ReplicaStats:
    """One replica. Mutable state: how much is in flight there, which lanes are full, which process it is, its pairs."""

    __slots__ = (
        "_models",
        "_most",
        "_most_before",
        "_ours_at_report",
        "_reported_at",
        "_since",
        "foreign",
        "full",
        "pairs",
        "replica_id",
        "rooms",
        "texts",
        "tickets",
        "weight",
        "work",
    )

    def __init__(self) -> None:
        """Begin with nothing in flight."""
        self.tickets = 0
        self.work = 0.0
        self.texts = 0
        self._since = 0.0
        self._most = self._most_before = 0
        self._reported_at: float | None = None
        self._ours_at_report = 0
        # What the last Snapshot says: texts there that are not ours, its share of the work, its models' room.
        self.foreign = 0
        self.weight = 1.0
        self._models: Mapping[str, ModelReport] = {}
        self.rooms = CapacityTracker()
        # Until when each lane is to be left alone; by then the next report says more.
        self.full: dict[Lane, float] = {}
        self.replica_id: str | None = None
        self.pairs: dict[LanguagePair, PairReplicaStats] = {}

    def note(self, replica: Replica, now: float) -> None:
        """Take in what a Snapshot says of it."""
        self.weight = replica.weight
        if replica.report is None:
            return
        anew = replica.reported_at != self._reported_at
        if anew or replica.report.models is not self._models:
            self._models = replica.report.models
            self.rooms.note(self._models, anew=anew)
        if anew:
            self._reported_at, self._ours_at_report = replica.reported_at, self.most(now)
        self.foreign = max(0, replica.report.in_flight - self._ours_at_report)

    def room(self, model: str, priority: Priority) -> Capacity | None:
        """Return how much room short requests of a class find at a model; None where the last report does not say."""
        report = self._models.get(model)
        said = report and report.room.get(priority)
        if report is None or said is None:
            return None
        since = self.rooms.since.get(model)
        ahead = said.ahead + (since[priority.rank] if since else 0.0)
        return Capacity(max(0.0, ahead), said.callers, said.limit, report.rate)

    def is_full(self, now: float, lane: Lane) -> bool:
        """Say whether it asked to be left alone by this lane until later."""
        return now < self.full.get(lane, 0.0)

    def fills(self, lane: Lane, now: float, seconds: float) -> None:
        """Note that it has no room for a lane, and for how long it asked to be left alone."""
        self.full[lane] = now + min(seconds, LONGEST_BACK_PRESSURE_SECONDS)

    def take(self, ticket: InFlightRequest, own: PairReplicaStats) -> None:
        """Count a request as in flight."""
        own.tickets[id(ticket)] = ticket
        own.oldest = own.oldest or ticket
        self.tickets += 1
        self.work += ticket.work
        self.texts += ticket.freight.texts
        self.rooms.add(ticket.model, ticket.freight, ticket.freight.cost)
        self._most = max(self.most(ticket.started), self.texts)

    def most(self, now: float) -> int:
        """Return the most texts that were in flight in the last moment: ``REPORT_AGE_SECONDS``, or up to twice as long."""
        if now - self._since >= REPORT_AGE_SECONDS:
            lately = now - self._since < 2 * REPORT_AGE_SECONDS
            self._since, self._most_before, self._most = now, self._most if lately else self.texts, self.texts
        return max(self._most, self._most_before, self.texts)

    def give_back(self, ticket: InFlightRequest, own: PairReplicaStats) -> None:
        """Count it no longer."""
        del own.tickets[id(ticket)]
        if own.oldest is ticket:
            own.oldest = next(iter(own.tickets.values()), None)
        self.tickets -= 1
        self.texts -= ticket.freight.texts
        self.rooms.add(ticket.model, ticket.freight, -ticket.freight.cost)
        # What floating point leaves over must not add up.
        self.work = self.work - ticket.work if self.tickets else 0.0
