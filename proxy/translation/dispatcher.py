"""Dispatcher: routes, admits and translates a request, and assembles the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from proxy.admission.controller import AdmissionController
from proxy.call import TranslationCall
from proxy.fleet.registry import Registry
from proxy.fleet.snapshot import Snapshot
from proxy.forwarding.forwarder import Forwarder
from proxy.forwarding.leg import Leg
from proxy.metrics import ProxyMetrics
from proxy.routing.language_groups import LanguageGroups
from proxy.routing.routes import Route, RoutePlanner, known_pairs
from proxy.routing.visible_text import INLINE_CHARS, MAX_SEEN_CHARS
from proxy.translation.detection import ScoredText
from proxy.translation.language_grouper import LanguageGrouper
from proxy.translation.pivot import CallLeg, calls_of_legs, translate_through_pivot
from proxy.translation.results import read_results, with_note
from proxy.upstream.response_classifier import RETRY_AFTER_SECONDS
from shared.languages import LanguagePair, closeness
from shared.literals import needs_translation
from shared.protocol.answers import Translation, same_language, unchanged
from shared.protocol.errors import PairUnavailableError, PairwayError, RelayedError, UnknownPairError
from shared.protocol.sse_format import DeltaSink
from shared.protocol.translate_request import AUTO, TextFormat
from shared.runtime.background import gather_results
from shared.runtime.metrics import MIXED, NO_ROUTE, OTHER
from shared.runtime.turns import LoopTurns

# Texts that are searched for words without a turn; for each character of others, at most.
FREE_CHARS: Final = 1000
CHAR_SECONDS: Final = 8e-7


class GroupPlan(NamedTuple):
    """Routes and calls of a request's texts, by detected language."""

    routes: Mapping[str, Route]
    calls: Mapping[str, TranslationCall]

    @property
    def legs(self) -> list[CallLeg]:
        """The calls and pairs that need admission."""
        return [leg for lang, route in self.routes.items() for leg in calls_of_legs(self.calls[lang], route)]


@dataclass(eq=False, slots=True)
class Dispatcher:
    """Dispatcher of requests to the replicas of their pairs; stateless."""

    _registry: Registry
    _planner: RoutePlanner
    _forwarder: Forwarder
    _language_grouper: LanguageGrouper
    _metrics: ProxyMetrics
    _admission: AdmissionController
    _turns: LoopTurns

    async def translate(self, call: TranslationCall) -> bytes:
        """Return the answer's JSON; one replica's bytes if it serves everything.

        Raises:
            PairwayError: a part of the request failed; there are no partial answers.
        """
        request, snapshot = call.request, self._registry.snapshot
        pair = LanguagePair(request.source_lang, request.target_lang)
        _require_report(pair, snapshot)
        if request.source_lang == AUTO:
            return await self._translate_detected(call)
        known_pair = _known_pair(pair, snapshot)
        if call.has_words is None:
            await self.look_for_words(call)
        results = _results_without_replica(pair, known_pair, call)
        if results is not None:
            if known_pair is not None:
                call.sample.pair = call.sample.route = str(known_pair)
                self._metrics.count_texts(call.sample.pair, call.cost.texts, call.cost.chars)
            _pass_on(dict(enumerate(results)), call.sink)
            return request.answer(results)
        route = call.route or self._find_route(pair, call, snapshot)
        self._metrics.count_texts(route.pair, call.cost.texts, call.cost.chars)
        with self._admission.admit(() if call.is_admitted else calls_of_legs(call, route), snapshot):
            return await self._send(pair, route, call)

    async def plan(self, call: TranslationCall, scored: Sequence[ScoredText] | None) -> list[CallLeg]:
        """Find a call's languages and routes in advance; return what needs admission.

        ``scored``: the texts' scores, if the languages are to be detected.

        Raises:
            PairwayError: the call cannot be translated now.
        """
        request, snapshot = call.request, self._registry.snapshot
        pair = LanguagePair(request.source_lang, request.target_lang)
        _require_report(pair, snapshot)
        if request.source_lang == AUTO:
            call.groups = await self._language_grouper.group(request, snapshot, scored)
            return self._plan_groups(call, call.groups, snapshot).legs
        call.caller.check(pair)
        if call.has_words is None:
            await self.look_for_words(call)
        if _results_without_replica(pair, _known_pair(pair, snapshot), call) is not None:
            return []
        call.route = self._find_route(pair, call, snapshot)
        return calls_of_legs(call, call.route)

    async def look_for_words(self, call: TranslationCall) -> None:
        """Find out whether any text needs a translation, whatever its target."""
        request, chars = call.request, call.cost.chars
        # Markup and long texts would block the event loop; the replica checks them too, and markup exactly.
        call.has_words = request.format is not TextFormat.TEXT or chars > INLINE_CHARS
        if call.has_words:
            return
        if chars > FREE_CHARS:
            await self._turns.take(chars * CHAR_SECONDS)
        call.has_words = any(len(text) > MAX_SEEN_CHARS or needs_translation(text) for text in request.texts)

    def _find_route(self, pair: LanguagePair, call: TranslationCall, snapshot: Snapshot) -> Route:
        """Find the route; label the sample, even if none is ready."""
        sample, through_pivot = call.sample, call.request.pivot
        try:
            route = self._planner.find(pair, snapshot, through_pivot=through_pivot)
        except PairwayError:
            reachable = self._planner.reachable(pair, snapshot, through_pivot=through_pivot)
            sample.pair = OTHER if reachable is None else str(reachable)
            sample.route = sample.pair if reachable in snapshot.ready else NO_ROUTE
            raise
        sample.pair, sample.route = route.pair, route.name
        return route

    async def _send(self, pair: LanguagePair, route: Route, call: TranslationCall) -> bytes:
        """Return the answer's JSON; all legs share one deadline."""
        if len(route.legs) > 1:
            return await translate_through_pivot(pair, route, call, self._forwarder)
        sink = call.sink and call.sink.renumbered(range(call.cost.texts))
        return await self._forwarder.send(Leg(pair, call, call.request, call.cost, sink))

    async def _translate_detected(self, call: TranslationCall) -> bytes:
        groups = call.groups or await self._language_grouper.group(call.request, self._registry.snapshot)
        snapshot = self._registry.snapshot
        plan = self._plan_groups(call, groups, snapshot)
        for lang, route in plan.routes.items():
            self._metrics.count_texts(route.pair, plan.calls[lang].cost.texts, plan.calls[lang].cost.chars)
        with self._admission.admit(() if call.is_admitted else plan.legs, snapshot):
            _pass_on(groups.results, call.sink)
            translations = await self._translate_groups(groups.pairs, plan.routes, plan.calls)
        for lang in plan.routes:
            groups.add(lang, translations[lang])
        return groups.answer()

    def _plan_groups(self, call: TranslationCall, groups: LanguageGroups, snapshot: Snapshot) -> GroupPlan:
        """Check and route all pairs before anything is sent.

        One failure fails the whole request.
        """
        pairs, sink = groups.pairs, call.sink
        for pair in pairs.values():
            call.caller.check(pair)
        routes = {lang: self._find_route(pair, call, snapshot) for lang, pair in pairs.items()}
        if len(routes) != 1:
            call.sample.pair = call.sample.route = MIXED if routes else NO_ROUTE
        calls = {
            lang: call.for_part(groups.request_for(lang), sink and sink.renumbered(indices))
            for lang, indices in groups.indices.items()
        }
        return GroupPlan(routes, calls)

    async def _translate_groups(
        self, pairs: Mapping[str, LanguagePair], routes: Mapping[str, Route], calls: Mapping[str, TranslationCall]
    ) -> dict[str, Sequence[Translation]]:
        groups = (self._translate_group(pairs[lang], routes[lang], call) for lang, call in calls.items())
        return dict(zip(calls, await gather_results(groups), strict=True))

    async def _translate_group(self, pair: LanguagePair, route: Route, call: TranslationCall) -> Sequence[Translation]:
        try:
            body = await self._send(pair, route, call)
        except RelayedError as error:
            if isinstance(call.request.text, str):
                raise
            raise with_note(
                error, f"Positions and totals refer only to the texts detected as {pair.source}."
            ) from error
        return read_results(call.request, body)


def _require_report(pair: LanguagePair, snapshot: Snapshot) -> None:
    """Raise PairUnavailableError without any report: no pair may be called unknown."""
    if not snapshot.ready:
        raise PairUnavailableError(str(pair), "no API server has reported yet", retry_after=RETRY_AFTER_SECONDS)


def _results_without_replica(
    pair: LanguagePair, known_pair: LanguagePair | None, call: TranslationCall
) -> list[Translation] | None:
    """Return the results if no text needs a translation, else None."""
    request = call.request
    if known_pair is None:
        if closeness(pair.target, pair.source) is None:
            return None
        # One language, as en into en-GB, and no model is hosted for this pair.
        return [same_language(text, pair.source, pair.target) for text in request.texts]
    if call.has_words:
        return None
    return [unchanged(text, known_pair.source, known_pair.target) for text in request.texts]


def _known_pair(pair: LanguagePair, snapshot: Snapshot) -> LanguagePair | None:
    """Return the closest known pair, or None."""
    if pair in snapshot.ready:  # the common case
        return pair
    try:
        return known_pairs(pair, snapshot)[0]
    except UnknownPairError:
        return None


def _pass_on(results: Mapping[int, Translation], sink: DeltaSink | None) -> None:
    """Pass translations to the sink as single deltas."""
    if sink is not None:
        for index, result in results.items():
            sink(index, result.translation or "")
