"""OpenAPI descriptions of both servers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

from pydantic import BaseModel

from shared.http.problems import JSON, PROBLEM_JSON
from shared.protocol.answers import Problem
from shared.protocol.deadline import MAX_MILLISECONDS, TIMEOUT_HEADER
from shared.protocol.headers import REQUEST_ID_HEADER
from shared.protocol.priority import PRIORITY_HEADER, Priority

_REQUEST_ID_DOC: Final = {
    REQUEST_ID_HEADER: ("Id in the response and in every log line; generated if absent.", {"type": "string"})
}
TRANSLATE_HEADERS: Final = {
    TIMEOUT_HEADER: ("Milliseconds the client waits.", {"type": "integer", "minimum": 1, "maximum": MAX_MILLISECONDS}),
    PRIORITY_HEADER: ("Urgency; the least urgent requests are refused first.", {"enum": list(Priority)}),
}


def body_documentation(
    model: type[BaseModel], extra_headers: Mapping[str, tuple[str, dict[str, Any]]] | None = None
) -> dict[str, Any]:
    """Return the OpenAPI description of a request's body and headers."""
    schema = model.model_json_schema()
    schema = _inlined(schema, schema.pop("$defs", {}))  # an operation's schema has no place for definitions
    headers = _REQUEST_ID_DOC | dict(extra_headers or {})
    return {
        "requestBody": {"required": True, "content": {"application/json": {"schema": schema}}},
        "parameters": [
            {"name": name, "in": "header", "required": False, "description": text, "schema": kind}
            for name, (text, kind) in headers.items()
        ],
    }


def _inlined(schema: Any, definitions: Mapping[str, Any]) -> Any:
    """Return a schema whose definitions are in their places.

    No model contains itself.
    """
    match schema:
        case {"$ref": str(reference)}:
            return _inlined(definitions[reference.rpartition("/")[2]], definitions)
        case dict():
            members = cast("dict[str, Any]", schema)
            return {name: _inlined(value, definitions) for name, value in members.items()}
        case list():
            return [_inlined(each, definitions) for each in cast("list[Any]", schema)]
        case _:
            return schema


def problem_documentation(statuses: Iterable[int]) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI description of an operation's problem responses."""
    schema = Problem.model_json_schema()
    return {
        status: {"description": "A problem; see its code.", "content": {PROBLEM_JSON: {"schema": schema}}}
        for status in statuses
    }


METRICS_DOCUMENTATION: Final[dict[int | str, dict[str, Any]]] = {
    200: {"content": {"text/plain": {"schema": {"type": "string"}}}}
}
PROBE_DOCUMENTATION: Final[dict[int | str, dict[str, Any]]] = {503: {"content": {JSON: {}}}}
