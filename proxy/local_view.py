"""EvidenceView: what operators see of this proxy's own evidence. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proxy.balancer import Candidate, score
from proxy.fleet_view import LocalStanding
from proxy.latency import work_of
from shared.lane import Lane

if TYPE_CHECKING:
    from collections.abc import Callable

    from proxy.evidence import LocalEvidence
    from proxy.fleet import Snapshot


class EvidenceView:
    """Implements ``fleet_view.LocalView`` over the evidence."""

    def __init__(self, evidence: LocalEvidence, snapshot: Callable[[], Snapshot]) -> None:
        """Take the evidence, and what gives the current Snapshot."""
        self._evidence = evidence
        self._snapshot = snapshot

    def standing(self, url: str) -> LocalStanding:
        """Return how one replica stands; its score is what it is chosen by for an empty text of its worst pair."""
        evidence, snapshot = self._evidence, self._snapshot()
        own = evidence.standing(url)
        replica = snapshot.replicas.get(url)
        foreign = 0 if replica is None else own.foreign
        weight = 1.0 if replica is None else replica.weight
        candidates = [
            Candidate(latency=latency, in_flight=own.work + foreign, weight=weight, penalty=each.penalty)
            for each in own.pairs.values()
            if (latency := each.latency.value) is not None
        ]
        return LocalStanding(
            in_flight=own.texts,
            score=max((round(score(each, work_of(0)), 4) for each in candidates), default=None),
            breakers={str(pair): str(each.breaker.state) for pair, each in own.pairs.items()},
            why=self._why(url),
        )

    def _why(self, url: str) -> str | None:
        """Say why this proxy passes it by; None where it does not."""
        own = self._evidence.standing(url)
        still = [str(pair) for pair, each in own.pairs.items() if each.stalls]
        if still:
            return f"it holds requests of {', '.join(still)} and makes no progress while others do"
        out = [
            f"the breaker of {pair} is {each.breaker.state}: {each.failed_with}"
            for pair, each in own.pairs.items()
            if each.is_out
        ]
        if out:
            return "; ".join(out)
        return (
            "it is full and asked to be left alone"
            if any(own.is_full(self._evidence.now(), lane) for lane in Lane)
            else None
        )
