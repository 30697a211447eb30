"""What this proxy has seen of one replica by itself: what is in flight there, and how it does with each pair. Pure."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from proxy.breaker import BreakerState, CircuitBreaker, Permit
from proxy.latency import PeakEwma

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from shared.languages import LanguagePair

# What a failure in a row adds to a replica's score: more than any healthy answer's difference, so that a replica that
# fails at once is no magnet. A canary that passes takes it back at once, time takes it back in the end.
PENALTY_SECONDS: Final = 1.0
PENALTY_LIFE_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True, eq=False)
class Ticket:
    """One request in flight: since when (monotonic seconds), how much work, how many texts, whom to tell of its loss."""

    pair: LanguagePair
    started: float
    work: float
    texts: int
    lost: Callable[[], None]


class PairStanding:
    """How a replica does with one pair. Mutable state: breaker, latency, failures in a row, whether it refused the pair."""

    __slots__ = ("_clock", "_failed_at", "breaker", "canary_due", "failures", "latency", "refused", "reset_at")

    def __init__(self, clock: Callable[[], float], rng: Random) -> None:
        """Begin with nothing known."""
        self._clock = clock
        self._failed_at = 0.0
        self.breaker = CircuitBreaker(clock, rng)
        self.latency = PeakEwma(clock)
        self.failures = 0
        self.refused = False
        self.canary_due = 0.0
        self.reset_at = 0.0  # what began before says nothing of how it is now

    @property
    def penalty(self) -> float:
        """Seconds that recent failures add to its score."""
        left = 1 - (self._clock() - self._failed_at) / PENALTY_LIFE_SECONDS if self.failures else 0.0
        return self.failures * PENALTY_SECONDS * max(0.0, left)

    @property
    def is_out(self) -> bool:
        """Whether only a trial may go there."""
        return self.breaker.state is not BreakerState.CLOSED

    def well(self) -> None:
        """Note that it does what it should."""
        self.failures = 0
        self.refused = False

    def took(self, started: float, work: float) -> None:
        """Note how long a request took, or has taken so far."""
        if started >= self.reset_at:
            self.latency.observe((self._clock() - started) / work)

    def reset(self, seconds_per_unit: float) -> None:
        """Note that a canary passed: only what begins from now on counts."""
        self.well()
        self.latency.reset(seconds_per_unit)
        self.reset_at = self._clock()

    def ill(self, permit: Permit | None, *, at_once: bool = False) -> None:
        """Note a failure; one without a permit (nobody else was left) only counts against its score."""
        self.failures += 1
        self._failed_at = self._clock()
        if permit is not None:
            self.breaker.failure(permit, at_once=at_once)


class Standing:
    """One replica. Mutable state: requests in flight, when it last made progress, until when it is full, since when here."""

    __slots__ = ("full_until", "joined_at", "pairs", "progressed_at", "replica_id", "texts", "tickets", "work")

    def __init__(self, joined_at: float) -> None:
        """Begin with nothing in flight."""
        self.tickets: OrderedDict[int, Ticket] = OrderedDict()
        self.work = 0.0
        self.texts = 0
        self.progressed_at = joined_at
        self.full_until: float | None = None  # None once it has taken a request again
        self.joined_at = joined_at
        self.replica_id: str | None = None
        self.pairs: dict[LanguagePair, PairStanding] = {}

    def is_full(self, now: float) -> bool:
        """Say whether it asked to be left alone until later, or has that behind it and one request tries it out."""
        return self.full_until is not None and (now < self.full_until or bool(self.tickets))

    def take(self, ticket: Ticket) -> None:
        """Count a request as in flight."""
        self.tickets[id(ticket)] = ticket
        self.work += ticket.work
        self.texts += ticket.texts

    def give_back(self, ticket: Ticket) -> None:
        """Count it no longer."""
        del self.tickets[id(ticket)]
        self.texts -= ticket.texts
        # What floating point leaves over must not add up.
        self.work = self.work - ticket.work if self.tickets else 0.0

    def oldest(self) -> Ticket | None:
        """Return the request that is in flight for longest."""
        return next(iter(self.tickets.values()), None)
