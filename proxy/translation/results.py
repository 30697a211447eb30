"""Results: parses replicas' translations, merges two legs, annotates errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from proxy.routing.routes import Route
from shared.protocol.answers import Translation, Translations
from shared.protocol.errors import RelayedError, ReplicaFailedError
from shared.protocol.translate_request import TranslateRequest

M = TypeVar("M", bound=BaseModel)


def merge_legs(first: Translation, last: Translation, route: Route) -> Translation:
    """Return the last leg's translation with the models and warnings of both."""
    warnings = {(notice.code, notice.message): notice for notice in (*first.warnings, *last.warnings)}
    models = [each.model for each in (first, last) if each.model is not None]
    return last.model_copy(
        update={
            "source_lang": first.source_lang,
            "target_lang": route.languages[-1],
            "model": "+".join(dict.fromkeys(models)) or None,
            "route": route.languages,
            "warnings": list(warnings.values()),
        }
    )


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
