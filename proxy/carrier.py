"""Carrier: takes texts along a route: to one replica, or through a pivot language to two, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel, ValidationError

from proxy.errand import Errand, Relay
from shared.errors import ReplicaFailedError
from shared.languages import LanguagePair
from shared.wire import TranslateRequest, Translation, Translations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxy.call import Call
    from proxy.forwarder import Forwarder
    from proxy.routing import Route

M = TypeVar("M", bound=BaseModel)


class Carrier:
    """Holds no state of its own."""

    def __init__(self, forwarder: Forwarder) -> None:
        """Take what brings each leg's texts to a replica."""
        self._forwarder = forwarder

    async def carry(self, wanted: LanguagePair, route: Route, call: Call) -> bytes:
        """Return the answer's JSON; a direct one is the replica's own bytes. One Deadline holds for all legs.

        Who listens is told of the last leg's parts, by their index in the request.

        Raises:
            PairwayError: a leg could not be served; the error says why.
        """
        request, on_delta = call.request, call.on_delta
        if len(route.legs) == 1:
            relay = None if on_delta is None else Relay(on_delta, range(len(request.texts)))
            return await self._forwarder.send(Errand(wanted, call, relay))
        pivot = route.legs[0].target
        # A term's source stays as it is on the first leg, so that the last one finds it and says it the client's way.
        kept = {phrase: phrase for phrase in request.terms}
        half = request.model_copy(update={"target_lang": pivot, "terms": kept})
        first = Errand(LanguagePair(wanted.source, pivot), call.asking(half, None), None)
        halves = read_results(half, await self._forwarder.send(first))
        left = [index for index, each in enumerate(halves) if each.translation is not None]
        results = dict(enumerate(_named(each, each, route) for each in halves))
        if left:
            texts = [halves[index].translation for index in left]
            update = {"source_lang": pivot, "text": texts[0] if isinstance(request.text, str) else texts}
            rest = request.model_copy(update=update)
            relay = None if on_delta is None else Relay(on_delta, left)
            last = Errand(LanguagePair(pivot, wanted.target), call.asking(rest, on_delta), relay)
            wholes = read_results(rest, await self._forwarder.send(last))
            results.update(
                (index, _named(halves[index], each, route)) for index, each in zip(left, wholes, strict=True)
            )
        return request.answer([results[index] for index in range(len(halves))])


def _named(half: Translation, whole: Translation, route: Route) -> Translation:
    """Return the last leg's translation with what both legs have to say."""
    warnings = {(notice.code, notice.message): notice for notice in (*half.warnings, *whole.warnings)}
    models = [each.model for each in (half, whole) if each.model is not None]
    return whole.model_copy(
        update={
            "source_lang": half.source_lang,
            "target_lang": route.languages[-1],
            "model": "+".join(dict.fromkeys(models)) or None,
            "route": route.languages,
            "warnings": list(warnings.values()),
        }
    )


def read_results(request: TranslateRequest, body: bytes) -> Sequence[Translation]:
    """Return a replica's translations of the request's texts.

    Raises:
        ReplicaFailedError: they can not be read, or are not as many as the texts.
    """
    if isinstance(request.text, str):
        return [_parsed(Translation, body)]
    results = _parsed(Translations, body).results
    if len(results) != len(request.text):
        message = f"A replica answered {len(request.text)} texts with {len(results)} translations."
        raise ReplicaFailedError(message)
    return results


def _parsed(model: type[M], body: bytes) -> M:
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        message = "A replica's answer can not be read."
        raise ReplicaFailedError(message) from error
