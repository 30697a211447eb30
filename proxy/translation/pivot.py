"""Carrier: takes texts along a route: to one replica, or through a pivot language to two, one after the other."""

from __future__ import annotations

from proxy.call import TranslationCall
from proxy.forwarding.forward_request import DeltaRelay, ForwardRequest
from proxy.forwarding.forwarder import Forwarder
from proxy.routing.routes import Route
from proxy.translation.results import merge_legs, read_results
from shared.languages import LanguagePair


class PivotTranslator:
    """Holds no state of its own."""

    def __init__(self, forwarder: Forwarder) -> None:
        """Take what brings each leg's texts to a replica."""
        self._forwarder = forwarder

    async def translate(self, wanted: LanguagePair, route: Route, call: TranslationCall) -> bytes:
        """Return the answer's JSON; a direct one is the replica's own bytes. One Deadline holds for all legs.

        Who listens is told of the last leg's parts, by their index in the request.

        Raises:
            PairwayError: a leg could not be served; the error says why.
        """
        request, on_delta = call.request, call.on_delta
        if len(route.legs) == 1:
            relay = None if on_delta is None else DeltaRelay(on_delta, range(len(request.texts)))
            return await self._forwarder.send(ForwardRequest(wanted, call, relay))
        pivot = route.legs[0].target
        # A term's source stays as it is on the first leg, so that the last one finds it and says it the client's way.
        kept = {phrase: phrase for phrase in request.terms}
        half = request.model_copy(update={"target_lang": pivot, "terms": kept})
        first = ForwardRequest(LanguagePair(wanted.source, pivot), call.asking(half, None), None)
        halves = read_results(half, await self._forwarder.send(first))
        left = [index for index, each in enumerate(halves) if each.translation is not None]
        results = dict(enumerate(merge_legs(each, each, route) for each in halves))
        if left:
            texts = [halves[index].translation for index in left]
            update = {"source_lang": pivot, "text": texts[0] if isinstance(request.text, str) else texts}
            rest = request.model_copy(update=update)
            relay = None if on_delta is None else DeltaRelay(on_delta, left)
            last = ForwardRequest(LanguagePair(pivot, wanted.target), call.asking(rest, on_delta), relay)
            wholes = read_results(rest, await self._forwarder.send(last))
            results.update(
                (index, merge_legs(halves[index], each, route)) for index, each in zip(left, wholes, strict=True)
            )
        return request.answer([results[index] for index in range(len(halves))])
