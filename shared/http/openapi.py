"""OpenAPI documentation that both servers share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from pydantic import BaseModel

from shared.http.problems import JSON, PROBLEM_JSON
from shared.protocol.deadline import MAX_MILLISECONDS, TIMEOUT_HEADER
from shared.protocol.headers import REQUEST_ID_HEADER
from shared.protocol.messages import Problem
from shared.protocol.priority import PRIORITY_HEADER, Priority

_REQUEST_ID_DOC: Final = {
    REQUEST_ID_HEADER: ("Comes back, and stands in every log line; made where absent.", {"type": "string"})
}
TRANSLATE_HEADERS: Final = {
    TIMEOUT_HEADER: ("Milliseconds the client waits.", {"type": "integer", "minimum": 1, "maximum": MAX_MILLISECONDS}),
    PRIORITY_HEADER: ("How urgent it is; the least urgent is refused first.", {"enum": list(Priority)}),
}


def body_documentation(
    model: type[BaseModel], extra_headers: Mapping[str, tuple[str, dict[str, Any]]] | None = None
) -> dict[str, Any]:
    """Return the OpenAPI description of a body, the request id's header and ``extra_headers``."""
    schema = model.model_json_schema()
    headers = _REQUEST_ID_DOC | dict(extra_headers or {})
    return {
        "requestBody": {"required": True, "content": {"application/json": {"schema": schema}}},
        "parameters": [
            {"name": name, "in": "header", "required": False, "description": text, "schema": kind}
            for name, (text, kind) in headers.items()
        ],
    }


def problem_documentation(statuses: Iterable[int]) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI description of the problems an operation can answer with."""
    schema = Problem.model_json_schema()
    return {
        status: {"description": "A problem; see its code.", "content": {PROBLEM_JSON: {"schema": schema}}}
        for status in statuses
    }


METRICS_DOCUMENTATION: Final[dict[int | str, dict[str, Any]]] = {
    200: {"content": {"text/plain": {"schema": {"type": "string"}}}}
}
PROBE_DOCUMENTATION: Final[dict[int | str, dict[str, Any]]] = {503: {"content": {JSON: {}}}}
