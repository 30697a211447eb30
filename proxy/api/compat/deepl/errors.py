"""Errors as DeepL renders them, and the header of all its answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from fastapi import Request, Response
from fastapi.responses import JSONResponse

from shared.http.problems import JsonBytesResponse, retry_headers
from shared.http.request_context import request_header
from shared.protocol.errors import CharactersUsedError, KeyRequiredError, PairwayError

TRACE_HEADER: Final = "X-Trace-ID"
_ENCODED_TRACE_HEADER: Final = TRACE_HEADER.lower().encode()
_BAD_REQUEST: Final = 400
_INTERNAL: Final = 500
_UNAVAILABLE: Final = 503
_QUOTA_EXCEEDED: Final = 456
# Errors for which DeepL has another status than we.
_STATUSES: Final[Mapping[str, int]] = {
    "key-required": 403,
    "unknown-pair": _BAD_REQUEST,
    "unusable-output": _BAD_REQUEST,  # a repeat fails again, and DeepL's clients repeat what is 500 or more
    "request-timeout": 504,
    "glossaries-full": _QUOTA_EXCEEDED,
}
_DEEPL_STATUSES: Final = frozenset({400, 403, 404, 405, 413, 415, 429, _QUOTA_EXCEEDED, 500, 503, 504})
# After one of these, Weblate does not ask again for 30 minutes.
_FOR_WEBLATE: Final[Mapping[int, int]] = {429: _INTERNAL, _UNAVAILABLE: _INTERNAL, _QUOTA_EXCEEDED: _BAD_REQUEST}
_WEBLATE: Final = "Weblate/"
_KEY_NEEDED: Final = "A key is needed: send the header Authorization: DeepL-Auth-Key KEY."


def status_of(error: PairwayError, user_agent: str) -> int:
    """Return DeepL's status for an error.

    Weblate gets 500 for faults that pass, and translates on where glossaries are too many.
    """
    if isinstance(error, CharactersUsedError):
        return _QUOTA_EXCEEDED
    status = _STATUSES.get(error.code, error.http_status)
    if status not in _DEEPL_STATUSES:
        status = _BAD_REQUEST if status < _INTERNAL else _UNAVAILABLE
    return _FOR_WEBLATE.get(status, status) if user_agent.startswith(_WEBLATE) else status


def render_error(request: Request, error: PairwayError) -> Response:
    """Render an error as ``{"message": …}``."""
    message = _KEY_NEEDED if isinstance(error, KeyRequiredError) else error.detail
    status = status_of(error, request_header(request, "user-agent") or "")
    headers = retry_headers(error) | {TRACE_HEADER: request.scope["state"]["request_id"]}
    return JSONResponse({"message": message}, status, headers)


def json_answer(request: Request, body: bytes) -> Response:
    """Return an answer of JSON, with the request's id as its trace."""
    return with_trace(request, JsonBytesResponse(body))


def with_trace(request: Request, response: Response) -> Response:
    """Return the response with the request's id as its trace."""
    response.raw_headers.append((_ENCODED_TRACE_HEADER, request.scope["state"]["request_id"].encode()))
    return response
