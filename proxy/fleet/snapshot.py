"""The fleet at one moment, indexed by pair."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from types import MappingProxyType

from proxy.fleet.replica import Replica, ReplicaState
from shared.languages import LanguagePair, language_and_script
from shared.protocol.report import PairReport


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The whole fleet at one moment; immutable.

    ``ready`` (URLs), ``total`` (configured replicas) and ``tiers`` (``ready`` by model rank, preferred first) have
    every known pair, even without replicas; ``by_source`` and ``by_target`` group these by language, ``by_source_kin``
    and ``by_target_kin`` by language and script. ``ranks`` and ``models``: of the pair's model at each URL.
    """

    replicas: Mapping[str, Replica]
    ready: Mapping[LanguagePair, tuple[str, ...]]
    total: Mapping[LanguagePair, int]
    tiers: Mapping[LanguagePair, tuple[tuple[str, ...], ...]]
    ranks: Mapping[LanguagePair, Mapping[str, int]]
    models: Mapping[LanguagePair, Mapping[str, str]]
    by_source: Mapping[str, tuple[LanguagePair, ...]]
    by_target: Mapping[str, tuple[LanguagePair, ...]]
    by_source_kin: Mapping[tuple[str, str], tuple[LanguagePair, ...]]
    by_target_kin: Mapping[tuple[str, str], tuple[LanguagePair, ...]]

    @classmethod
    def of(cls, replicas: Iterable[Replica], remembered: Iterable[LanguagePair]) -> Snapshot:
        """Build the snapshot; ``remembered`` pairs are known too."""
        by_url = {replica.url: replica for replica in replicas}
        total: dict[LanguagePair, int] = dict.fromkeys(remembered, 0)
        offers: dict[LanguagePair, list[tuple[str, PairReport]]] = {pair: [] for pair in total}
        for url, replica in by_url.items():
            for pair, report in replica.report.pairs.by_pair.items() if replica.report is not None else ():
                total[pair] = total.get(pair, 0) + 1
                pair_offers = offers.setdefault(pair, [])
                if report.ready and replica.state is ReplicaState.READY:
                    pair_offers.append((url, report))
        ranks = {pair: {url: report.rank for url, report in offers[pair]} for pair in sorted(offers)}
        by_source = _grouped(ranks, lambda pair: pair.source)
        by_target = _grouped(ranks, lambda pair: pair.target)
        return cls(
            MappingProxyType(by_url),
            MappingProxyType({pair: tuple(by_rank) for pair, by_rank in ranks.items()}),
            MappingProxyType(total),
            MappingProxyType({pair: _tiers(by_rank) for pair, by_rank in ranks.items()}),
            MappingProxyType(ranks),
            MappingProxyType({pair: {url: report.model for url, report in offers[pair]} for pair in ranks}),
            by_source,
            by_target,
            _by_kin(by_source),
            _by_kin(by_target),
        )

    @property
    def source_languages(self) -> frozenset[str]:
        """Source languages of known pairs, ready or not."""
        return frozenset(self.by_source)


def _tiers(ranks: Mapping[str, int]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(urls) for _, urls in groupby(sorted(ranks, key=ranks.__getitem__), ranks.__getitem__))


def _grouped(
    pairs: Iterable[LanguagePair], under: Callable[[LanguagePair], str]
) -> Mapping[str, tuple[LanguagePair, ...]]:
    return MappingProxyType({tag: tuple(group) for tag, group in groupby(sorted(pairs, key=under), under)})


def _by_kin(
    by_language: Mapping[str, tuple[LanguagePair, ...]],
) -> Mapping[tuple[str, str], tuple[LanguagePair, ...]]:
    groups: dict[tuple[str, str], tuple[LanguagePair, ...]] = {}
    for tag, pairs in by_language.items():
        kin = language_and_script(tag)
        groups[kin] = groups.get(kin, ()) + pairs
    return MappingProxyType(groups)
