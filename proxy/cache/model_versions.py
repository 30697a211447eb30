"""The models, with revisions, that serve a route now."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

from proxy.fleet.replica import Replica
from proxy.fleet.snapshot import Snapshot
from proxy.routing.routes import Route
from shared.languages import LanguagePair
from shared.protocol.report import PairReport

# Names and revisions of the models that serve one pair, sorted.
ServedModels = tuple[tuple[str, str], ...]


class ModelVersions:
    """Each pair's models, until replicas, pairs or revisions change."""

    def __init__(self, snapshot: Callable[[], Snapshot]) -> None:
        self._snapshot = snapshot
        self._tiers: object = None
        self._models: dict[LanguagePair, ServedModels | None] = {}

    def for_route(self, route: Route) -> tuple[ServedModels, ...] | None:
        """Return each leg's preferred models; None if a revision is unknown.

        Only the first tier counts: the cache holds preferred translations.
        """
        snapshot = self._snapshot()
        # The registry creates new tiers when a replica, a pair or a revision changes.
        if self._tiers is not snapshot.tiers:
            self._tiers, self._models = snapshot.tiers, {}
        models_by_leg: list[ServedModels] = []
        for leg in route.legs:
            if leg not in self._models:
                self._models[leg] = _served_models(leg, snapshot)
            models = self._models[leg]
            if models is None:
                return None
            models_by_leg.append(models)
        return tuple(models_by_leg)


def model_names(models_by_leg: tuple[ServedModels, ...]) -> frozenset[str]:
    """Return a translation's possible model names (``results.py`` joins two legs)."""
    names_by_leg = ([name for name, _ in models] for models in models_by_leg)
    return frozenset("+".join(dict.fromkeys(names)) for names in product(*names_by_leg))


def _served_models(pair: LanguagePair, snapshot: Snapshot) -> ServedModels | None:
    tiers = snapshot.tiers.get(pair, ())
    models = {_model_version(snapshot.replicas[url], pair) for url in tiers[0]} if tiers else {None}
    known = {model for model in models if model is not None}
    return tuple(sorted(known)) if len(known) == len(models) else None


def _model_version(replica: Replica, pair: LanguagePair) -> tuple[str, str] | None:
    report = replica.report
    pair_report = None if report is None else _pair_report(report.pairs, pair)
    if report is None or pair_report is None:
        return None
    model = report.models.get(pair_report.model)
    return None if model is None or model.revision is None else (pair_report.model, model.revision)


def _pair_report(reports: dict[str, PairReport], pair: LanguagePair) -> PairReport | None:
    named = reports.get(str(pair))
    if named is not None and named.pair == pair:  # the common case
        return named
    return next((report for report in reports.values() if report.pair == pair), None)
