"""Snapshot: the whole fleet at one moment, indexed by pair."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from types import MappingProxyType
from typing import NamedTuple, Self

from proxy.fleet.replica import Replica, ReplicaState
from shared.languages import LanguagePair
from shared.protocol.report import ServedPairs


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
        # Replicas that report the very same pairs (proxy/upstream/report_parser.py) are taken together: of a multilingual model's fleet
        # that is all, and 1,000 with 300 pairs each would else stop the event loop for half a second.
        shared_pairs: dict[tuple[int, bool], tuple[ServedPairs, list[str]]] = {}
        for replica in by_url.values():
            if replica.report is not None:
                pairs, serving = replica.report.pairs, replica.state is ReplicaState.READY
                shared_pairs.setdefault((id(pairs), serving), (pairs, []))[1].append(replica.url)
        offers: dict[LanguagePair, list[_Offer]] = {pair: [] for pair in remembered}
        total: dict[LanguagePair, int] = dict.fromkeys(offers, 0)
        for (_, serving), (pairs, urls) in shared_pairs.items():
            for pair, report in pairs.by_pair.items():
                total[pair] = total.get(pair, 0) + len(urls)
                pair_offers = offers.setdefault(pair, [])
                if serving and report.ready:
                    pair_offers.append(_Offer(report.rank, report.model, urls))
        served_by_offers: dict[tuple[tuple[int, str, int], ...], _Served] = {}
        served: dict[LanguagePair, _Served] = {}
        for pair in sorted(offers):
            key = tuple((rank, model, id(urls)) for rank, model, urls in offers[pair])
            if key not in served_by_offers:
                served_by_offers[key] = _Served.of(offers[pair])
            served[pair] = served_by_offers[key]
        return cls(
            MappingProxyType(by_url),
            MappingProxyType({pair: each.urls for pair, each in served.items()}),
            MappingProxyType(total),
            MappingProxyType({pair: each.tiers for pair, each in served.items()}),
            MappingProxyType({pair: each.ranks for pair, each in served.items()}),
            MappingProxyType({pair: each.models for pair, each in served.items()}),
            _grouped(served, lambda pair: pair.source),
            _grouped(served, lambda pair: pair.target),
        )

    @property
    def source_languages(self) -> frozenset[str]:
        """Languages that the fleet knows how to translate from, ready or not."""
        return frozenset(self.by_source)


def _grouped(
    pairs: Iterable[LanguagePair], under: Callable[[LanguagePair], str]
) -> Mapping[str, tuple[LanguagePair, ...]]:
    return MappingProxyType({tag: tuple(group) for tag, group in groupby(sorted(pairs, key=under), under)})
