"""Documentation of both servers: OpenAPI, and the page ``/docs``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, cast

from fastapi import FastAPI
from pydantic import BaseModel
from starlette.routing import Route

from shared.http.problems import JSON, PROBLEM_JSON
from shared.http.static_file import StaticFile
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


_FOLDER: Final = Path(__file__).parent / "docs_page_files"
_JAVASCRIPT: Final = "text/javascript; charset=utf-8"
# Each path, its file and its media type: nothing else of the folder is served.
_FILES: Final = (
    ("/docs", "index.html", "text/html; charset=utf-8"),
    ("/docs/start.js", "start.js", _JAVASCRIPT),
    ("/docs/swagger-ui.css", "swagger_ui/swagger-ui.css", "text/css; charset=utf-8"),
    ("/docs/swagger-ui-bundle.js", "swagger_ui/swagger-ui-bundle.js", _JAVASCRIPT),
    (
        "/docs/swagger-ui-bundle.js.LICENSE.txt",
        "swagger_ui/swagger-ui-bundle.js.LICENSE.txt",
        "text/plain; charset=utf-8",
    ),
)


def add_docs_page(app: FastAPI) -> None:
    """Add the page to an app without FastAPI's own page."""
    for path, name, media_type in _FILES:
        app.routes.append(Route(path, _static_file(name, media_type).serve, include_in_schema=False))


@cache
def _static_file(name: str, media_type: str) -> StaticFile:
    return StaticFile((_FOLDER / name).read_bytes(), media_type)
