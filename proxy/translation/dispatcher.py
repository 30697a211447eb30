"""Dispatcher: routes, admits and translates a request, and assembles the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from proxy.admission.controller import AdmissionController
from proxy.call import Leg, TranslationCall
from proxy.fleet.registry import Registry
from proxy.fleet.snapshot import Snapshot
from proxy.forwarding.forwarder import Forwarder
from proxy.metrics import ProxyMetrics
from proxy.routing.routes import Route, RoutePlanner, known_stand_ins
from proxy.routing.visible_text import MAX_SEEN_CHARS, VISIBLE_INLINE_CHARS
from proxy.translation.detection import LanguageGrouper, LanguageGroups, ScoredText
from proxy.translation.pivot import pivot_legs, translate_through_pivot
from proxy.translation.results import ResultTurns, with_note
from proxy.upstream.response_classifier import REPLICA_RETRY_SECONDS
from shared.languages import LanguagePair, closeness
from shared.literals import needs_translation
from shared.protocol.answers import Translation, same_language, unchanged
from shared.protocol.errors import PairUnavailableError, PairwayError, RelayedError
from shared.protocol.sse_format import DeltaSink
from shared.protocol.translate_request import AUTO, TextFormat
from shared.runtime.background import gather_results
from shared.runtime.metrics import MIXED, NO_ROUTE, OTHER
from shared.runtime.turns import LoopTurns

# A text that is searched for words without a turn; for each character of others, at most, and for each of their texts.
FREE_CHARS: Final = 1000
CHAR_SECONDS: Final = 8e-7
TEXT_SECONDS: Final = 3e-6
# For each language of a list: its route is found, its texts are sent.
LANGUAGE_SECONDS: Final = 0.0008


class CallPlan(NamedTuple):
    """Findings about a call, before anything of it is sent.

    ``route``: an error without one, None if the languages are to be detected. ``has_words``: whether any text may need a
    translation; None: not known yet. ``groups``: the texts by language, if detected already. ``is_admitted``: admitted as
    a part of a larger request.
    """

    route: Route | PairwayError | None
    has_words: bool | None = None
    groups: LanguageGroups | None = None
    is_admitted: bool = False


class GroupLegs(NamedTuple):
    """Texts of one detected language: their call, route and legs."""

    call: TranslationCall
    route: Route
    legs: Sequence[Leg]


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
    _result_turns: ResultTurns

    def plan(self, call: TranslationCall) -> CallPlan:
        """Find a call's route, unless its language is unknown; label its sample.

        Raises:
            PairRefusedError: the caller's key does not allow the pair.
        """
        if call.request.source_lang == AUTO:
            return CallPlan(None)
        pair = call.pair
        if call.caller.pairs is not None:
            call.caller.check(pair)
        return CallPlan(self._find_route(pair, call, self._registry.snapshot))

    async def plan_target(
        self, call: TranslationCall, scored: Sequence[ScoredText] | None, *, has_words: bool | None
    ) -> tuple[CallPlan, Sequence[Leg]]:
        """Plan a call that is admitted with others; return its legs too.

        ``scored``: the texts' scores, if the languages are to be detected.

        Raises:
            PairwayError: the call cannot be translated now.
        """
        snapshot = self._registry.snapshot
        if not snapshot.ready:
            raise _no_report_error(call.pair)
        plan = self.plan(call)._replace(has_words=has_words, is_admitted=True)
        if plan.route is None:
            groups = await self._language_grouper.group(call.caller.identity, call.request, snapshot, scored)
            groups_legs = await self._plan_groups(call, groups, snapshot)
            return plan._replace(groups=groups), [leg for group in groups_legs.values() for leg in group.legs]
        if _needs_no_replica(call, plan.route, snapshot, has_words=has_words):
            return plan, ()
        return plan, legs_of(call, call.pair, _route_of(plan.route))

    async def translate(self, call: TranslationCall, plan: CallPlan) -> bytes:
        """Return the answer's JSON; one replica's bytes if it serves everything.

        Raises:
            PairwayError: a part of the request failed; there are no partial answers.
        """
        snapshot, route, has_words = self._registry.snapshot, plan.route, plan.has_words
        if not snapshot.ready:
            raise _no_report_error(call.pair)
        if route is None:
            return await self._translate_detected(call, plan)
        if has_words is None:
            has_words = await self.look_for_words(call)
        if _needs_no_replica(call, route, snapshot, has_words=has_words):
            await self._result_turns.take(call.request)
            results = _results_without_replica(call, snapshot)
            known_pair = _known_pair(call.pair, snapshot)
            if known_pair is not None:
                call.sample.pair = call.sample.route = str(known_pair)
                self._metrics.count_texts(call.sample.pair, call.cost.texts, call.cost.chars)
            _pass_on(dict(enumerate(results)), call.sink)
            return call.request.answer(results)
        route = _route_of(route)
        self._metrics.count_texts(route.pair, call.cost.texts, call.cost.chars)
        legs = legs_of(call, call.pair, route)
        with self._admission.admit(() if plan.is_admitted else legs, snapshot):
            return await self._send(legs, route)

    async def look_for_words(self, call: TranslationCall) -> bool:
        """Return whether any text may need a translation, whatever its target."""
        request, chars = call.request, call.cost.chars
        # Markup and long texts would block the event loop; the replica checks them too, and markup exactly.
        if request.format is not TextFormat.TEXT or chars > VISIBLE_INLINE_CHARS:
            return True
        if chars > FREE_CHARS or call.cost.texts > 1:
            await self._turns.take(chars * CHAR_SECONDS + call.cost.texts * TEXT_SECONDS)
        return any(len(text) > MAX_SEEN_CHARS or needs_translation(text) for text in request.texts)

    def _find_route(self, pair: LanguagePair, call: TranslationCall, snapshot: Snapshot) -> Route | PairwayError:
        """Find the route, or why there is none; label the sample."""
        sample, through_pivot = call.sample, call.request.pivot
        route = self._planner.find(pair, snapshot, through_pivot=through_pivot)
        if isinstance(route, PairwayError):
            reachable = self._planner.reachable(pair, snapshot, through_pivot=through_pivot)
            sample.pair = OTHER if reachable is None else str(reachable)
            sample.route = sample.pair if reachable in snapshot.ready else NO_ROUTE
        else:
            sample.pair, sample.route = route.pair, route.name
        return route

    async def _send(self, legs: Sequence[Leg], route: Route) -> bytes:
        """Return the answer's JSON; all legs share one deadline."""
        if len(legs) == 1:
            return await self._forwarder.send(legs[0])
        first, last = legs
        return await translate_through_pivot(first, last, route, self._forwarder, self._result_turns)

    async def _translate_detected(self, call: TranslationCall, plan: CallPlan) -> bytes:
        groups = plan.groups or await self._language_grouper.group(
            call.caller.identity, call.request, self._registry.snapshot
        )
        snapshot = self._registry.snapshot
        groups_legs = await self._plan_groups(call, groups, snapshot)
        for group in groups_legs.values():
            self._metrics.count_texts(group.route.pair, group.call.cost.texts, group.call.cost.chars)
        legs = [leg for group in groups_legs.values() for leg in group.legs]
        with self._admission.admit(() if plan.is_admitted else legs, snapshot):
            _pass_on(groups.results, call.sink)
            translations = await gather_results(map(self._translate_group, groups_legs.values()))
        await self._result_turns.take(call.request)
        for lang, results in zip(groups_legs, translations, strict=True):
            groups.add(lang, results)
        return groups.answer()

    async def _plan_groups(
        self, call: TranslationCall, groups: LanguageGroups, snapshot: Snapshot
    ) -> dict[str, GroupLegs]:
        """Check and route all pairs before anything is sent.

        One failure fails the whole request.
        """
        pairs, sink = groups.pairs, call.sink
        for pair in pairs.values():
            call.caller.check(pair)
        routes: dict[str, Route] = {}
        for lang, pair in pairs.items():
            await self._take_turn_of_language(call)
            routes[lang] = _route_of(self._find_route(pair, call, snapshot))
        if len(routes) != 1:
            call.sample.pair = call.sample.route = MIXED if routes else NO_ROUTE
        groups_legs: dict[str, GroupLegs] = {}
        for lang, route in routes.items():
            part = call.for_part(groups.request_for(lang), sink and sink.renumbered(groups.indices[lang]))
            groups_legs[lang] = GroupLegs(part, route, legs_of(part, pairs[lang], route))
        return groups_legs

    async def _translate_group(self, group: GroupLegs) -> Sequence[Translation]:
        request = group.call.request
        await self._take_turn_of_language(group.call)
        try:
            body = await self._send(group.legs, group.route)
        except RelayedError as error:
            if isinstance(request.text, str):
                raise
            source = group.legs[0].wanted.source
            raise with_note(error, f"Positions and totals refer only to the texts detected as {source}.") from error
        return await self._result_turns.read(request, body)

    async def _take_turn_of_language(self, call: TranslationCall) -> None:
        if not isinstance(call.request.text, str):
            await self._turns.take(LANGUAGE_SECONDS)


def legs_of(call: TranslationCall, wanted: LanguagePair, route: Route) -> Sequence[Leg]:
    """Return the legs of a call's route, for admission and to send."""
    if len(route.legs) == 1:
        sink = call.sink and call.sink.renumbered(range(call.cost.texts))
        return (Leg(call, route.legs[0], wanted, call.request, call.cost, sink),)
    return pivot_legs(call, wanted, route)


def _route_of(route: Route | PairwayError) -> Route:
    """Return the route, or raise the reason why there is none."""
    if isinstance(route, PairwayError):
        raise route.with_detail(route.detail)  # a copy: its plan would keep the frames that it passes
    return route


def _no_report_error(pair: LanguagePair) -> PairUnavailableError:
    """Return the error without any report: no pair may be called unknown."""
    return PairUnavailableError(str(pair), "no API server has reported yet", retry_after=REPLICA_RETRY_SECONDS)


def _needs_no_replica(
    call: TranslationCall, route: Route | PairwayError, snapshot: Snapshot, *, has_words: bool | None
) -> bool:
    """Return whether no text needs a translation."""
    if has_words and isinstance(route, Route) and len(route.legs) == 1:  # the common case
        return False
    if _known_pair(call.pair, snapshot) is None:
        # One language, as en into en-GB, and no model is hosted for this pair.
        return closeness(call.pair.target, call.pair.source) is not None
    return not has_words


def _results_without_replica(call: TranslationCall, snapshot: Snapshot) -> list[Translation]:
    """Return the texts of a call that needs no replica."""
    request, pair = call.request, _known_pair(call.pair, snapshot)
    if pair is None:
        return [same_language(text, call.pair.source, call.pair.target) for text in request.texts]
    return [unchanged(text, pair.source, pair.target) for text in request.texts]


def _known_pair(pair: LanguagePair, snapshot: Snapshot) -> LanguagePair | None:
    """Return the closest known pair, or None."""
    if pair in snapshot.ready:  # the common case
        return pair
    return next(iter(known_stand_ins(pair, snapshot)), None)


def _pass_on(results: Mapping[int, Translation], sink: DeltaSink | None) -> None:
    """Pass translations to the sink as single deltas."""
    if sink is not None:
        for index, result in results.items():
            sink(index, result.translation or "")
