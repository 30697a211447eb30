"""Pivot translation: two legs, one after the other, through a third language."""

from __future__ import annotations

from collections.abc import Sequence

from proxy.call import TranslationCall
from proxy.forwarding.forwarder import Forwarder
from proxy.forwarding.leg import Leg
from proxy.request_cost import RequestCost
from proxy.routing.routes import Route
from proxy.translation.results import merge_legs, read_results
from shared.languages import LanguagePair
from shared.protocol.answers import Translation
from shared.protocol.errors import UnusableOutputError
from shared.protocol.translate_request import TranslateRequest

# A call and the pair of one of its legs.
CallLeg = tuple[TranslationCall, LanguagePair]


def calls_of_legs(call: TranslationCall, route: Route) -> list[CallLeg]:
    """Return the legs' calls, for admission; only the last has alternatives."""
    if not call.request.alternatives or len(route.legs) == 1:
        return [(call, leg) for leg in route.legs]
    first = call.for_part(call.request.model_copy(update={"alternatives": 0}), None)
    return [*((first, leg) for leg in route.legs[:-1]), (call, route.legs[-1])]


async def translate_through_pivot(
    pair: LanguagePair, route: Route, call: TranslationCall, forwarder: Forwarder
) -> bytes:
    """Return the answer's JSON; the sink gets the last leg's deltas.

    Raises:
        PairwayError: a leg failed.
    """
    request = call.request
    pivot = route.legs[0].target
    # The first leg keeps the source of each term unchanged, so that the last leg finds it and translates it.
    source_terms = {phrase: phrase for phrase in request.terms}
    update = {"target_lang": pivot, "terms": source_terms, "alternatives": 0}
    first_request = request.model_copy(update=update)
    cost = RequestCost.of(first_request, call.priority) if request.alternatives else call.cost
    first_leg = Leg(LanguagePair(pair.source, pivot), call, first_request, cost)
    first_results = read_results(first_request, await forwarder.send(first_leg))
    indices = [index for index, result in enumerate(first_results) if result.translation is not None]
    results = dict(enumerate(merge_legs(result, None, route) for result in first_results))
    if indices:
        texts = [first_results[index].translation for index in indices]
        # The context is in the source language.
        update = {"source_lang": pivot, "text": texts[0] if isinstance(request.text, str) else texts, "context": ""}
        last_request = request.model_copy(update=update)
        cost = RequestCost.of(last_request, call.priority)
        sink = call.sink and call.sink.renumbered(indices)
        last_leg = Leg(LanguagePair(pivot, pair.target), call, last_request, cost, sink)
        last_results = read_results(last_request, await forwarder.send(last_leg))
        results.update(
            (index, merge_legs(first_results[index], result, route))
            for index, result in zip(indices, last_results, strict=True)
        )
    return request.answer(_confident(request, [results[index] for index in range(len(first_results))]))


def _confident(request: TranslateRequest, results: Sequence[Translation]) -> Sequence[Translation]:
    """Withhold texts that only both legs together make too uncertain.

    Raises:
        UnusableOutputError: the only text is one.
    """
    if request.min_confidence is None:
        return results
    results = [result.at_least(request.min_confidence) for result in results]
    if isinstance(request.text, str) and results[0].translation is None:
        reason = results[0].warnings[0]
        raise UnusableOutputError(reason.message, facts={"warnings": [reason.model_dump()]})
    return results
