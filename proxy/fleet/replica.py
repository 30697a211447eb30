"""One API server as this proxy sees it."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from pydantic import BaseModel, ConfigDict

from shared.languages import LanguagePair
from shared.protocol.report import ReplicaReport, ServerState

DRAINED: Final = "drained by an operator"


class ReplicaState(StrEnum):
    """State from reports, probes and overrides."""

    STARTING = "starting"
    READY = "ready"
    DRAINING = "draining"
    DOWN = "down"


class Replica(BaseModel):
    """One API server at one URL; the record in Redis.

    Times are Unix seconds. DOWN keeps the last ``report``. ``missed``: unanswered probes in a row. Only the snapshot
    sets ``drained`` and ``set_weight``.
    """

    model_config = ConfigDict(frozen=True)

    url: str
    state: ReplicaState
    why: str | None
    probed_at: float
    reported_at: float | None = None
    report: ReplicaReport | None = None
    missed: int = 0
    drained: bool = False
    set_weight: float | None = None

    @classmethod
    def unseen(cls, url: str, now: float) -> Replica:
        """Return a replica not yet probed."""
        return cls(url=url, state=ReplicaState.STARTING, why="not probed yet", probed_at=now)

    @classmethod
    def reported(cls, url: str, report: ReplicaReport, now: float) -> Replica:
        """Return a replica that has just answered."""
        match report.state:
            case ServerState.READY:
                state, why = ReplicaState.READY, None
            case ServerState.DRAINING:
                state, why = ReplicaState.DRAINING, "the server is stopping"
            case ServerState.STARTING:
                reasons = dict.fromkeys(pair.why for pair in report.pairs.values() if pair.why)
                state, why = ReplicaState.STARTING, "; ".join(reasons) or "none of its pairs is ready"
        return cls(url=url, state=state, why=why, probed_at=now, reported_at=now, report=report)

    def silent(self, why: str, now: float, *, max_misses: int) -> Replica:
        """Return the replica after an unanswered probe."""
        missed = self.missed + 1
        down = missed >= max_misses or self.state is ReplicaState.DOWN
        changes: dict[str, object] = {"state": ReplicaState.DOWN, "why": why} if down else {}
        return self.model_copy(update=changes | {"probed_at": now, "missed": missed})

    def with_override(self, *, drained: bool, weight: float | None) -> Replica:
        """Return the replica with an operator's changes."""
        if not drained and weight is None:
            return self
        changes: dict[str, object] = {"drained": drained, "set_weight": weight}
        if drained and self.state is not ReplicaState.DOWN:
            changes |= {"state": ReplicaState.DRAINING, "why": DRAINED}
        return self.model_copy(update=changes)

    @property
    def weight(self) -> float:
        """Relative share of work: set by an operator, reported, or 1."""
        return self.set_weight or (self.report.weight if self.report else 1.0)

    @property
    def is_known(self) -> bool:
        """Whether its state is that of its last probe."""
        return self.state is ReplicaState.DOWN or (self.reported_at is not None and not self.missed)

    @property
    def is_healthy(self) -> bool:
        """Whether the replica and all its configured pairs are ready."""
        return self.state is ReplicaState.READY and (self.report is None or self.report.pairs.all_ready)

    @property
    def pairs(self) -> dict[LanguagePair, bool]:
        """Configured pairs, each with its readiness."""
        serving, by_pair = self.state is ReplicaState.READY, self.report.pairs.by_pair if self.report else {}
        return {pair: serving and report.ready for pair, report in by_pair.items()}

    def serves(self, pair: LanguagePair) -> bool:
        """Return whether it is ready for a pair now."""
        report = self.report and self.report.pairs.by_pair.get(pair)
        return report is not None and report.ready and self.state is ReplicaState.READY
