"""Attempt: one request at one replica, from the choice of it to what it says about that replica. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Self

from proxy.balancing.circuit_breaker import CircuitPermit
from proxy.balancing.replica_stats import InFlightRequest, PairReplicaStats, ReplicaStats
from proxy.upstream.response_classifier import AttemptOutcome
from shared.languages import LanguagePair
from shared.protocol.sse import OnDelta

if TYPE_CHECKING:
    from proxy.balancing.local_stats import LocalStats


class Selection(NamedTuple):
    """A replica for a request of a pair, and the rank and name of the model that serves it there.

    ``permit`` is its breaker's, None where nobody better was left.
    """

    url: str
    pair: LanguagePair
    rank: int
    permit: CircuitPermit | None
    model: str


class Attempt:
    """One request at one replica, counted as in flight while the block lasts and given back on every path.

    Mutable state: what it says about the replica, ``Verdict.NONE`` unless it was told, and its ``outcome`` in a word.
    """

    __slots__ = (
        "_evidence",
        "_full_for",
        "_standing",
        "_unreachable",
        "_verdict",
        "choice",
        "outcome",
        "own",
        "ticket",
    )

    def __init__(
        self,
        evidence: LocalStats,
        choice: Selection,
        ticket: InFlightRequest,
        standing: ReplicaStats,
        own: PairReplicaStats,
    ) -> None:
        """Take what is to be counted, and where: the replica's standing at the beginning, whatever becomes of it."""
        self._evidence = evidence
        self._standing = standing
        self.own = own
        self.choice = choice
        self.ticket = ticket
        self._verdict = AttemptOutcome.NONE
        self.outcome = "cancelled"
        self._full_for = 0.0
        self._unreachable = False

    def __enter__(self) -> Self:
        """Count it."""
        self._standing.take(self.ticket, self.own)
        return self

    def __exit__(self, *_: object) -> None:
        """Count it no longer, and learn from it."""
        self._standing.give_back(self.ticket, self.own)
        self._evidence.judge(
            self, self._standing, self._verdict, self.outcome, self._full_for, unreachable=self._unreachable
        )

    def says(self, verdict: AttemptOutcome, *, full_for: float = 0.0, unreachable: bool = False) -> None:
        """Note the verdict; ``full_for`` are the seconds that a full replica asked us to wait."""
        self._verdict, self._full_for, self._unreachable = verdict, full_for, unreachable

    def expires(self) -> None:
        """Note that the time given passed: a failure where any replica would have answered by then, else no verdict."""
        self._verdict = AttemptOutcome.FAILED if self._evidence.is_overdue(self.ticket) else AttemptOutcome.NONE

    def beaten(self) -> None:
        """Note that another replica answered first; as good as a failure, several in a row take it out."""
        self.own.took_at_least(self.ticket)
        self._verdict = AttemptOutcome.FAILED

    def relayed(self, relay: OnDelta | None) -> OnDelta | None:
        """Return the relay, made to note each delta as progress."""
        if relay is None:
            return None

        def tell(index: int, text: str) -> None:
            self.own.progresses()
            relay(index, text)

        return tell
