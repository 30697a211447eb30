"""Pivot translator: translates along a route of one or two legs."""

from __future__ import annotations

from proxy.call import TranslationCall
from proxy.forwarding.forwarder import Forwarder
from proxy.forwarding.leg import Leg
from proxy.request_cost import RequestCost
from proxy.routing.routes import Route
from proxy.translation.results import merge_legs, read_results
from shared.languages import LanguagePair


class PivotTranslator:
    """Sender of a request along its route; holds no state."""

    def __init__(self, forwarder: Forwarder) -> None:
        self._forwarder = forwarder

    async def translate(self, pair: LanguagePair, route: Route, call: TranslationCall) -> bytes:
        """Return the answer's JSON; a direct one is the replica's own bytes.

        One Deadline holds for all legs. The call's sink gets the last leg's parts.

        Raises:
            PairwayError: a leg could not be served; the error says why.
        """
        if len(route.legs) > 1:
            return await self._translate_through_pivot(pair, route, call)
        sink = call.sink and call.sink.renumbered(range(len(call.request.texts)))
        return await self._forwarder.send(Leg(pair, call, call.request, call.cost, sink))

    async def _translate_through_pivot(self, pair: LanguagePair, route: Route, call: TranslationCall) -> bytes:
        request = call.request
        pivot = route.legs[0].target
        # A term's source stays as it is on the first leg, so that the last one finds it and translates it as asked.
        source_terms = {phrase: phrase for phrase in request.terms}
        first_request = request.model_copy(update={"target_lang": pivot, "terms": source_terms})
        first_leg = Leg(LanguagePair(pair.source, pivot), call, first_request, call.cost)
        first_results = read_results(first_request, await self._forwarder.send(first_leg))
        indices = [index for index, result in enumerate(first_results) if result.translation is not None]
        results = dict(enumerate(merge_legs(result, result, route) for result in first_results))
        if indices:
            texts = [first_results[index].translation for index in indices]
            update = {"source_lang": pivot, "text": texts[0] if isinstance(request.text, str) else texts}
            last_request = request.model_copy(update=update)
            cost = RequestCost.of(last_request, call.priority)
            sink = call.sink and call.sink.renumbered(indices)
            last_leg = Leg(LanguagePair(pivot, pair.target), call, last_request, cost, sink)
            last_results = read_results(last_request, await self._forwarder.send(last_leg))
            results.update(
                (index, merge_legs(first_results[index], result, route))
                for index, result in zip(indices, last_results, strict=True)
            )
        return request.answer([results[index] for index in range(len(first_results))])
