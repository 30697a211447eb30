"""Pivot translation: two legs, one after the other, through a third language."""

from __future__ import annotations

from collections.abc import Sequence

from proxy.call import Leg, RequestCost, TranslationCall
from proxy.forwarding.forwarder import Forwarder
from proxy.routing.routes import Route
from proxy.translation.results import ResultTurns, merge_legs
from shared.languages import LanguagePair
from shared.protocol.answers import Translation
from shared.protocol.errors import UnusableOutputError
from shared.protocol.translate_request import TranslateRequest


def pivot_legs(call: TranslationCall, wanted: LanguagePair, route: Route) -> tuple[Leg, Leg]:
    """Return both legs of a route; only the last has alternatives.

    Until the first has results, the last has the client's texts.
    """
    request, (first_pair, last_pair) = call.request, route.legs
    pivot = first_pair.target
    # The first leg keeps the source of each term unchanged, so that the last leg finds it and translates it.
    source_terms = {phrase: phrase for phrase in request.terms}
    update = {"target_lang": pivot, "terms": source_terms, "alternatives": 0}
    first_request = request.model_copy(update=update)
    cost = RequestCost.of(first_request, call.priority) if request.alternatives else call.cost
    first = Leg(call, first_pair, LanguagePair(wanted.source, pivot), first_request, cost)
    return first, Leg(call, last_pair, LanguagePair(pivot, wanted.target), request, call.cost)


async def translate_through_pivot(
    first: Leg, last: Leg, route: Route, forwarder: Forwarder, turns: ResultTurns
) -> bytes:
    """Return the answer's JSON; the sink gets the last leg's deltas.

    Raises:
        PairwayError: a leg failed.
    """
    call, request = first.call, first.call.request
    first_results = await turns.read(first.request, await forwarder.send(first))
    indices = [index for index, result in enumerate(first_results) if result.translation is not None]
    sources = request.texts
    results = {index: merge_legs(sources[index], result, None, route) for index, result in enumerate(first_results)}
    if indices:
        texts = [first_results[index].translation for index in indices]
        # The context is in the source language.
        update = {
            "source_lang": last.wanted.source,
            "text": texts[0] if isinstance(request.text, str) else texts,
            "context": "",
        }
        last_request = request.model_copy(update=update)
        cost = RequestCost.of(last_request, call.priority)
        sink = call.sink and call.sink.renumbered(indices)
        last = last._replace(request=last_request, cost=cost, sink=sink)
        last_results = await turns.read(last_request, await forwarder.send(last))
        results.update(
            (index, merge_legs(sources[index], first_results[index], result, route))
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
