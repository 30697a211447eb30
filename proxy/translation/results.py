"""Reads replicas' translations, and merges those of two legs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from proxy.routing.routes import Route
from shared.protocol.errors import ReplicaFailedError
from shared.protocol.messages import TranslateRequest, Translation, Translations

M = TypeVar("M", bound=BaseModel)


def merge_legs(half: Translation, whole: Translation, route: Route) -> Translation:
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
