"""Attempt: one request at one replica, from the choice of it to what it says about that replica. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from proxy.outcome import Verdict

if TYPE_CHECKING:
    from proxy.breaker import Permit
    from proxy.evidence import LocalEvidence
    from proxy.standing import Ticket
    from shared.events import OnDelta


@dataclass(frozen=True, slots=True)
class Choice:
    """A replica for a request; ``permit`` is its breaker's, None where nobody better was left."""

    url: str
    permit: Permit | None


class Attempt:
    """One request at one replica, counted as in flight while the block lasts and given back on every path.

    Mutable state: what it says about the replica, ``Verdict.NONE`` unless it was told.
    """

    __slots__ = ("_evidence", "_full_for", "_unreachable", "_verdict", "choice", "ticket")

    def __init__(self, evidence: LocalEvidence, choice: Choice, ticket: Ticket) -> None:
        """Take what is to be counted."""
        self._evidence = evidence
        self.choice = choice
        self.ticket = ticket
        self._verdict = Verdict.NONE
        self._full_for = 0.0
        self._unreachable = False

    def __enter__(self) -> Self:
        """Count it."""
        self._evidence.standing(self.choice.url).take(self.ticket)
        return self

    def __exit__(self, *_: object) -> None:
        """Count it no longer, and learn from it."""
        self._evidence.standing(self.choice.url).give_back(self.ticket)
        self._evidence.judge(self.choice, self.ticket, self._verdict, self._full_for, unreachable=self._unreachable)

    def says(self, verdict: Verdict, *, full_for: float = 0.0, unreachable: bool = False) -> None:
        """Note the verdict; ``full_for`` are the seconds that a full replica asked us to wait."""
        self._verdict, self._full_for, self._unreachable = verdict, full_for, unreachable

    @property
    def is_out(self) -> bool:
        """Whether the replica's breaker was not closed."""
        return self._evidence.pair_standing(self.choice.url, self.ticket.pair).is_out

    def expires(self) -> None:
        """Note that the time given passed: a failure where any replica would have answered by then, else no verdict."""
        self._verdict = Verdict.FAILED if self._evidence.is_overdue(self.ticket) else Verdict.NONE

    def relayed(self, relay: OnDelta | None) -> OnDelta | None:
        """Return the relay, made to note each delta as progress."""
        if relay is None:
            return None

        def tell(index: int, text: str) -> None:
            self.progresses()
            relay(index, text)

        return tell

    def progresses(self) -> None:
        """Note a sign of life: a part of the answer."""
        standing = self._evidence.standing(self.choice.url)
        standing.progressed_at = self._evidence.now()

    def beaten(self) -> None:
        """Note that another replica answered first; as good as a failure, several in a row take it out."""
        self._evidence.beaten(self.choice, self.ticket)
        self._verdict = Verdict.FAILED
