"""Pivot translator: translates along a route of one or two legs."""

from __future__ import annotations

from proxy.call import TranslationCall
from proxy.forwarding.forward_request import DeltaRelay, ForwardRequest
from proxy.forwarding.forwarder import Forwarder
from proxy.routing.routes import Route
from proxy.translation.results import merge_legs, read_results
from shared.languages import LanguagePair


class PivotTranslator:
    """Translator along a route; holds no state."""

    def __init__(self, forwarder: Forwarder) -> None:
        self._forwarder = forwarder

    async def translate(self, pair: LanguagePair, route: Route, call: TranslationCall) -> bytes:
        """Return the answer's JSON; a direct one is the replica's own bytes.

        One Deadline holds for all legs. ``on_delta`` gets the last leg's parts, by their index in the request.

        Raises:
            PairwayError: a leg could not be served; the error says why.
        """
        if len(route.legs) == 1:
            request, on_delta = call.request, call.on_delta
            delta_relay = None if on_delta is None else DeltaRelay(on_delta, range(len(request.texts)))
            return await self._forwarder.send(ForwardRequest(pair, call, delta_relay))
        return await self._translate_through_pivot(pair, route, call)

    async def _translate_through_pivot(self, pair: LanguagePair, route: Route, call: TranslationCall) -> bytes:
        request, on_delta = call.request, call.on_delta
        pivot = route.legs[0].target
        # A term's source stays as it is on the first leg, so that the last one finds it and translates it as asked.
        source_terms = {phrase: phrase for phrase in request.terms}
        first_request = request.model_copy(update={"target_lang": pivot, "terms": source_terms})
        first_leg = ForwardRequest(LanguagePair(pair.source, pivot), call.for_part(first_request, None), None)
        first_results = read_results(first_request, await self._forwarder.send(first_leg))
        indices = [index for index, result in enumerate(first_results) if result.translation is not None]
        results = dict(enumerate(merge_legs(result, result, route) for result in first_results))
        if indices:
            texts = [first_results[index].translation for index in indices]
            update = {"source_lang": pivot, "text": texts[0] if isinstance(request.text, str) else texts}
            last_request = request.model_copy(update=update)
            delta_relay = None if on_delta is None else DeltaRelay(on_delta, indices)
            last_leg = ForwardRequest(
                LanguagePair(pivot, pair.target), call.for_part(last_request, on_delta), delta_relay
            )
            last_results = read_results(last_request, await self._forwarder.send(last_leg))
            results.update(
                (index, merge_legs(first_results[index], result, route))
                for index, result in zip(indices, last_results, strict=True)
            )
        return request.answer([results[index] for index in range(len(first_results))])
