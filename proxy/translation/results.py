"""Results: parses replicas' translations, merges two legs, annotates errors."""

from __future__ import annotations

import re
from collections.abc import Sequence
from operator import attrgetter
from typing import Final, TypeVar

from pydantic import BaseModel, ValidationError

from proxy.routing.routes import Route
from shared.protocol.answers import CONFIDENCE_DIGITS, Notice, Translation, Translations, merge_notices
from shared.protocol.errors import RelayedError, ReplicaFailedError
from shared.protocol.translate_request import TranslateRequest
from shared.runtime.turns import LoopTurns

M = TypeVar("M", bound=BaseModel)

# Of a warning's value inside of longer words, which are looked at; a text of 200,000 characters has many.
MAX_PLACES: Final = 100
_WORD_CHAR: Final = re.compile(r"\w")
# At most, for all that follows: a result is read, changed, and written; and for each byte of its JSON.
RESULT_SECONDS: Final = 1.2e-5
BYTE_SECONDS: Final = 1.5e-8


def merge_legs(text: str, first: Translation, last: Translation | None, route: Route) -> Translation:
    """Return the last leg's translation with the models and warnings of both.

    ``text`` is the first leg's. ``last`` is None if the first leg has no translation. The confidence is the product: both legs must be right, and
    the last cannot know the first one's faults. A doubt of the first leg is one of the whole text.
    """
    legs = (first,) if last is None else (first, last)
    models = [each.model for each in legs if each.model is not None]
    update: dict[str, object] = {
        "source_lang": first.source_lang,
        "target_lang": route.languages[-1],
        "model": "+".join(dict.fromkeys(models)) or None,
        "route": route.languages,
        "warnings": _merge_warnings(text, first, last),
    }
    if last is not None and first.uncertain and last.translation is not None:
        update["uncertain"] = [(0, len(last.translation))]
    if last is not None and first.confidence is not None and last.confidence is not None:
        update["confidence"] = round(first.confidence * last.confidence, CONFIDENCE_DIGITS)
        if last.alternatives_confidence is not None:
            update["alternatives_confidence"] = [
                round(first.confidence * each, CONFIDENCE_DIGITS) for each in last.alternatives_confidence
            ]
    return legs[-1].model_copy(update=update)


def _merge_warnings(text: str, first: Translation, last: Translation | None) -> list[Notice]:
    """Return one notice of each code.

    What the first leg warns of needs no words of the language between.
    """
    codes = {notice.code for notice in first.warnings}
    later = [
        notice.model_copy(update={"values": [each for each in notice.values if _has_word(text, each)]})
        if notice.code in codes
        else notice
        for notice in (() if last is None else last.warnings)
    ]
    return merge_notices((*first.warnings, *later), key=attrgetter("code"))


def _has_word(text: str, value: str) -> bool:
    """Return whether a text has a value that no longer word contains.

    After ``MAX_PLACES`` inside of words it may be there: a caller's text chooses how many there are.
    """
    start = -1
    for _ in range(MAX_PLACES):
        start = text.find(value, start + 1)
        if start < 0:
            return False
        around = text[max(0, start - 1) : start], text[start + len(value) : start + len(value) + 1]
        if not any(map(_WORD_CHAR.match, around)):
            return True
    return True


def read_results(request: TranslateRequest, body: bytes) -> Sequence[Translation]:
    """Return a replica's translations of the request's texts.

    Raises:
        ReplicaFailedError: the body is malformed, or its translations are not as many as the texts.
    """
    if isinstance(request.text, str):
        return [_parse(Translation, body)]
    results = _parse(Translations, body).results
    if len(results) != len(request.text):
        raise ReplicaFailedError(f"A replica answered {len(request.text)} texts with {len(results)} translations.")
    return results


def _parse(model: type[M], body: bytes) -> M:
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        raise ReplicaFailedError("A replica's answer cannot be read.") from error


def with_note(error: RelayedError, note: str) -> RelayedError:
    """Return a copy of the error with a note in its detail."""
    return RelayedError(
        code=error.code,
        http_status=error.http_status,
        title=error.title,
        detail=f"{error.detail} ({note})",
        facts=error.facts,
    )


class ResultTurns:
    """Turns of the event loop for the results of lists.

    A single text needs none: nothing is done for each of many.
    """

    def __init__(self, turns: LoopTurns) -> None:
        self._turns = turns

    async def take(self, request: TranslateRequest, size: int = 0) -> None:
        """Wait for a turn for all texts' results.

        ``size``: the bytes of their JSON.
        """
        if not isinstance(request.text, str):
            await self._turns.take(len(request.text) * RESULT_SECONDS + size * BYTE_SECONDS)

    async def read(self, request: TranslateRequest, body: bytes) -> Sequence[Translation]:
        """Return a replica's translations, as :func:`read_results`, with time left to write them."""
        await self.take(request, len(body))
        return read_results(request, body)

    async def with_warning(self, request: TranslateRequest, body: bytes, notice: Notice) -> bytes:
        """Return a request's answer with one more warning in each result."""
        results = await self.read(request, body)
        return request.answer([each.model_copy(update={"warnings": [*each.warnings, notice]}) for each in results])
