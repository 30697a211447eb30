"""The fleet as this proxy sees it: replicas, their states, and the pairs they can serve now. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import groupby
from types import MappingProxyType
from typing import Final, NamedTuple, Self

from pydantic import BaseModel, ConfigDict

from shared.languages import LanguagePair
from shared.report import ReplicaReport, ServedPairs, ServerState

DRAINED: Final = "drained by an operator"


class ReplicaState(StrEnum):
    """What the proxy makes of a replica."""

    STARTING = "starting"
    READY = "ready"
    DRAINING = "draining"
    DOWN = "down"


class Replica(BaseModel):
    """One API server at one URL, and what is known of it; also the record kept in Redis.

    ``probed_at`` is the Unix time of the last probe, ``reported_at`` that of ``report``, the last good one: a replica
    that is DOWN keeps it, so that its pairs stay known. ``missed`` counts probes in a row without an answer.
    ``drained`` and ``set_weight`` are an operator's: they are no part of the record, but put on it in the Snapshot.
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
        """Return a replica that has not been probed yet."""
        return cls(url=url, state=ReplicaState.STARTING, why="not probed yet", probed_at=now)

    @classmethod
    def reported(cls, url: str, report: ReplicaReport, now: float) -> Replica:
        """Return a replica that has just answered."""
        match report.state:
            case ServerState.READY:
                state, why = ReplicaState.READY, None
            case ServerState.DRAINING:
                state, why = ReplicaState.DRAINING, "it is about to stop"
            case ServerState.STARTING:
                reasons = dict.fromkeys(pair.why for pair in report.pairs.values() if pair.why)
                state, why = ReplicaState.STARTING, "; ".join(reasons) or "none of its pairs is ready"
        return cls(url=url, state=state, why=why, probed_at=now, reported_at=now, report=report)

    def silent(self, why: str, now: float, *, patience: int) -> Replica:
        """Return the replica after a probe without an answer: DOWN once ``missed`` reaches ``patience``."""
        missed = self.missed + 1
        down = missed >= patience or self.state is ReplicaState.DOWN
        return self.model_copy(
            update={
                "state": ReplicaState.DOWN if down else self.state,
                "why": why if down else self.why,
                "probed_at": now,
                "missed": missed,
            }
        )

    def changed(self, *, drained: bool, weight: float | None) -> Replica:
        """Return the replica as an operator wants it: a drained one takes no new requests, its pairs stay known."""
        if not drained and weight is None:
            return self
        changes: dict[str, object] = {"drained": drained, "set_weight": weight}
        if drained and self.state is not ReplicaState.DOWN:
            changes |= {"state": ReplicaState.DRAINING, "why": DRAINED}
        return self.model_copy(update=changes)

    @property
    def weight(self) -> float:
        """The share of work it is to have beside others: what an operator set, else what it reports, else 1."""
        return self.set_weight or (self.report.weight if self.report else 1.0)

    @property
    def is_well(self) -> bool:
        """Whether nothing at all is amiss: ready, and so is every pair it is configured for."""
        return self.state is ReplicaState.READY and (self.report is None or self.report.pairs.all_ready)

    @property
    def pairs(self) -> dict[LanguagePair, bool]:
        """Every pair it is configured for, and whether it is ready for it now."""
        if self.report is None:
            return {}
        serving = self.state is ReplicaState.READY
        return {pair: serving and report.ready for pair, report in self.report.by_pair.items()}

    def serves(self, pair: LanguagePair) -> bool:
        """Say whether it is ready for a pair now."""
        report = None if self.report is None else self.report.by_pair.get(pair)
        return report is not None and report.ready and self.state is ReplicaState.READY


class _Offer(NamedTuple):
    """Replicas that are ready for a pair, by a model of that rank and name."""

    rank: int
    model: str
    urls: list[str]


class _Served(NamedTuple):
    """Who serves a pair: all of them, in groups of equal rank from the lowest, and each one's rank and model."""

    urls: tuple[str, ...]
    tiers: tuple[tuple[str, ...], ...]
    ranks: Mapping[str, int]
    models: Mapping[str, str]

    @classmethod
    def of(cls, offers: Sequence[_Offer]) -> Self:
        """Put the offers together."""
        ranks = {url: offer.rank for offer in offers for url in offer.urls}
        models = {url: offer.model for offer in offers for url in offer.urls}
        tiers = tuple(
            tuple(url for offer in offers if offer.rank == rank for url in offer.urls)
            for rank in sorted({offer.rank for offer in offers})
        )
        return cls(tuple(ranks), tiers, ranks, models)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The whole fleet at one moment; immutable, so a request reads one consistent view and never waits for it.

    ``ready``, ``total`` and ``tiers`` hold every known pair, also those whose replicas are gone. ``tiers`` are the
    URLs of ``ready`` by the rank of the model that serves them there, the preferred model's first; ``ranks`` the same by
    URL, ``models`` the models' names. ``by_source`` and ``by_target`` are the known pairs by the language they translate from, and into.
    """

    replicas: Mapping[str, Replica]
    ready: Mapping[LanguagePair, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    total: Mapping[LanguagePair, int] = field(default_factory=lambda: MappingProxyType({}))
    tiers: Mapping[LanguagePair, tuple[tuple[str, ...], ...]] = field(default_factory=lambda: MappingProxyType({}))
    ranks: Mapping[LanguagePair, Mapping[str, int]] = field(default_factory=lambda: MappingProxyType({}))
    models: Mapping[LanguagePair, Mapping[str, str]] = field(default_factory=lambda: MappingProxyType({}))
    by_source: Mapping[str, tuple[LanguagePair, ...]] = field(default_factory=lambda: MappingProxyType({}))
    by_target: Mapping[str, tuple[LanguagePair, ...]] = field(default_factory=lambda: MappingProxyType({}))

    @classmethod
    def of(cls, replicas: Iterable[Replica], remembered: Iterable[LanguagePair]) -> Snapshot:
        """Build the view: pairs that are remembered or configured anywhere, and the URLs that are ready for each."""
        by_url = {replica.url: replica for replica in replicas}
        # Replicas that report the very same pairs (proxy/reports.py) are taken together: of a multilingual model's fleet
        # that is all, and 1,000 with 300 pairs each would else stop the event loop for half a second.
        alike: dict[tuple[int, bool], tuple[ServedPairs, list[str]]] = {}
        for replica in by_url.values():
            if replica.report is not None:
                pairs, serving = replica.report.pairs, replica.state is ReplicaState.READY
                alike.setdefault((id(pairs), serving), (pairs, []))[1].append(replica.url)
        offers: dict[LanguagePair, list[_Offer]] = {pair: [] for pair in remembered}
        total: dict[LanguagePair, int] = dict.fromkeys(offers, 0)
        for (_, serving), (pairs, urls) in alike.items():
            for pair, report in pairs.by_pair.items():
                total[pair] = total.get(pair, 0) + len(urls)
                offered = offers.setdefault(pair, [])
                if serving and report.ready:
                    offered.append(_Offer(report.rank, report.model, urls))
        known: dict[tuple[tuple[int, str, int], ...], _Served] = {}
        served: dict[LanguagePair, _Served] = {}
        for pair in sorted(offers):
            key = tuple((rank, model, id(urls)) for rank, model, urls in offers[pair])
            if key not in known:
                known[key] = _Served.of(offers[pair])
            served[pair] = known[key]
        return cls(
            MappingProxyType(by_url),
            MappingProxyType({pair: each.urls for pair, each in served.items()}),
            MappingProxyType(total),
            MappingProxyType({pair: each.tiers for pair, each in served.items()}),
            MappingProxyType({pair: each.ranks for pair, each in served.items()}),
            MappingProxyType({pair: each.models for pair, each in served.items()}),
            _filed(served, lambda pair: pair.source),
            _filed(served, lambda pair: pair.target),
        )

    @property
    def source_languages(self) -> frozenset[str]:
        """Languages that the fleet knows how to translate from, ready or not."""
        return frozenset(self.by_source)


def _filed(
    pairs: Iterable[LanguagePair], under: Callable[[LanguagePair], str]
) -> Mapping[str, tuple[LanguagePair, ...]]:
    return MappingProxyType({tag: tuple(found) for tag, found in groupby(sorted(pairs, key=under), under)})
