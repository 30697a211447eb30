"""Revisions: which models, in which state, answer for a route now. Pure."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

from proxy.fleet.replica import Replica
from proxy.fleet.snapshot import Snapshot
from proxy.routing.routes import Route
from shared.languages import LanguagePair
from shared.protocol.report import PairReport

# The models that serve one pair, each with its revision, sorted.
Served = tuple[tuple[str, str], ...]


class ModelVersions:
    """Mutable state: what was found for each pair since the Snapshot's replicas last changed what they serve."""

    def __init__(self, snapshot: Callable[[], Snapshot]) -> None:
        """Take what gives the current Snapshot."""
        self._snapshot = snapshot
        self._tiers: object = None
        self._found: dict[LanguagePair, Served | None] = {}

    def for_route(self, route: Route) -> tuple[Served, ...] | None:
        """Return for each leg the preferred models that are ready, with their revisions; None where one is not known.

        Only the first tier: what a lower one answers while the first is full is not what is preferred.
        """
        snapshot = self._snapshot()
        if (
            self._tiers is not snapshot.tiers
        ):  # the registry makes new ones when a replica, a pair or a revision changes
            self._tiers, self._found = snapshot.tiers, {}
        legs: list[Served] = []
        for leg in route.legs:
            if leg not in self._found:
                self._found[leg] = _served(leg, snapshot)
            served = self._found[leg]
            if served is None:
                return None
            legs.append(served)
        return tuple(legs)


def model_names(legs: tuple[Served, ...]) -> frozenset[str]:
    """Return what a translation can say of the models that made it (``proxy/translation/pivot.py`` joins those of two legs)."""
    names = ([name for name, _ in leg] for leg in legs)
    return frozenset("+".join(dict.fromkeys(each)) for each in product(*names))


def _served(pair: LanguagePair, snapshot: Snapshot) -> Served | None:
    tiers = snapshot.tiers.get(pair, ())
    found = {_by(snapshot.replicas[url], pair) for url in tiers[0]} if tiers else {None}
    known = {each for each in found if each is not None}
    return tuple(sorted(known)) if len(known) == len(found) else None


def _by(replica: Replica, pair: LanguagePair) -> tuple[str, str] | None:
    report = replica.report
    serving = None if report is None else _pair_report(report.pairs, pair)
    if report is None or serving is None:
        return None
    model = report.models.get(serving.model)
    return None if model is None or model.revision is None else (serving.model, model.revision)


def _pair_report(reports: dict[str, PairReport], pair: LanguagePair) -> PairReport | None:
    """Return the pair's report; it usually stands under its own name, which saves looking at hundreds."""
    named = reports.get(str(pair))
    if named is not None and named.pair == pair:
        return named
    return next((report for report in reports.values() if report.pair == pair), None)
