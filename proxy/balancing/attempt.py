"""Attempt: one request at one replica, from its selection to its result."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Self

from proxy.balancing.circuit_breaker import CircuitPermit
from proxy.balancing.replica_stats import InFlightRequest, PairReplicaStats
from proxy.upstream.response_classifier import AttemptOutcome
from shared.languages import LanguagePair
from shared.protocol.sse import OnDelta


class Selection(NamedTuple):
    """A replica for a request of a pair, and the model there.

    ``rank`` and ``model`` are those of the model that serves the pair there. ``permit`` is its breaker's, None where
    nobody better was left.
    """

    url: str
    pair: LanguagePair
    rank: int
    permit: CircuitPermit | None
    model: str


class AttemptResult(NamedTuple):
    """How an attempt ended, and the statistics that it belongs to.

    They are those from its beginning. ``reason`` is its end in a word; ``full_for`` are the seconds that a full replica
    asked us to wait. An attempt that ``timed_out`` is a failure only where any replica would have answered by then.
    """

    selection: Selection
    request: InFlightRequest
    stats: PairReplicaStats
    outcome: AttemptOutcome
    reason: str
    full_for: float
    unreachable: bool
    timed_out: bool


class Attempt:
    """One request at one replica, in flight while the block lasts.

    It is released on every path. Mutable state: its outcome, ``AttemptOutcome.NONE`` until one is recorded, and its
    ``label`` for metrics.
    """

    __slots__ = (
        "_full_for",
        "_outcome",
        "_record",
        "_timed_out",
        "_unreachable",
        "label",
        "request",
        "selection",
        "stats",
    )

    def __init__(
        self,
        record: Callable[[AttemptResult], None],
        selection: Selection,
        request: InFlightRequest,
        stats: PairReplicaStats,
    ) -> None:
        """Begin without an outcome; ``record`` gets the result at the end."""
        self._record = record
        self.stats = stats
        self.selection = selection
        self.request = request
        self._outcome = AttemptOutcome.NONE
        self.label = "cancelled"
        self._full_for = 0.0
        self._unreachable = False
        self._timed_out = False

    def __enter__(self) -> Self:
        """Count it as in flight."""
        self.stats.add(self.request)
        return self

    def __exit__(self, *_: object) -> None:
        """Count it no longer, and record its result."""
        self.stats.remove(self.request)
        self._record(
            AttemptResult(
                self.selection,
                self.request,
                self.stats,
                self._outcome,
                self.label,
                self._full_for,
                self._unreachable,
                self._timed_out,
            )
        )

    def record_outcome(self, outcome: AttemptOutcome, *, full_for: float = 0.0, unreachable: bool = False) -> None:
        """Note the outcome; a full replica asked us to wait ``full_for`` seconds."""
        self._outcome, self._full_for, self._unreachable = outcome, full_for, unreachable

    def record_timeout(self) -> None:
        """Note that the time given passed."""
        self._timed_out = True

    def record_hedge_won(self) -> None:
        """Note that another replica answered first.

        As good as a failure: several in a row open the breaker.
        """
        self.stats.record_minimum_latency(self.request)
        self._outcome = AttemptOutcome.FAILED

    def track_progress(self, on_delta: OnDelta | None) -> OnDelta | None:
        """Return the callback, wrapped so that each delta counts as progress."""
        if on_delta is None:
            return None

        def track(index: int, text: str) -> None:
            self.stats.record_progress()
            on_delta(index, text)

        return track
