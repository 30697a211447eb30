"""EvidenceView: what operators see of this proxy's own evidence. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proxy.breaker import BreakerState
from proxy.fleet_view import Standing

if TYPE_CHECKING:
    from proxy.evidence import LocalEvidence


class EvidenceView:
    """Implements ``fleet_view.LocalView`` over the evidence."""

    def __init__(self, evidence: LocalEvidence) -> None:
        """Take the evidence."""
        self._evidence = evidence

    def standing(self, url: str) -> Standing:
        """Return how one replica stands: its score is the seconds that one unit of work of its slowest pair would take."""
        evidence = self._evidence
        own = evidence.standing(url)
        latencies = [latency for each in own.pairs.values() if (latency := each.latency.value) is not None]
        penalty = max((each.penalty for each in own.pairs.values()), default=0.0)
        return Standing(
            in_flight=own.texts,
            score=round(max(latencies) * (1 + own.work) + penalty, 4) if latencies else None,
            breakers={str(pair): str(each.breaker.state) for pair, each in own.pairs.items()},
            why=self._why(url),
        )

    def _why(self, url: str) -> str | None:
        """Say why this proxy passes it by; None where it does not."""
        own = self._evidence.standing(url)
        out = {
            str(pair): "it refused the pair" if each.refused else f"{each.failures} failures in a row"
            for pair, each in own.pairs.items()
            if each.breaker.state is not BreakerState.CLOSED
        }
        if self._evidence.stalls(url, own):
            return f"it holds {own.texts} texts and makes no progress while others do"
        if out:
            return "; ".join(f"breaker of {label} open: {why}" for label, why in out.items())
        return "it is full and asked to be left alone" if own.is_full(self._evidence.now()) else None
