"""Error responses: problems (RFC 9457)."""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable
from typing import Final

from fastapi import Request, Response
from fastapi.responses import JSONResponse

from shared.http.request_context import SECURITY_HEADERS, add_log_fields, add_response_headers, route_path
from shared.protocol.answers import Problem
from shared.protocol.errors import KeyRequiredError, PairwayError, UnsupportedMediaError
from shared.protocol.headers import REQUEST_ID_HEADER
from shared.runtime.gc_tuning import drop_tracebacks

JSON: Final = "application/json"
PROBLEM_JSON: Final = "application/problem+json"
# Renders an error in the format of another API.
ErrorRenderer = Callable[[Request, PairwayError], Response]
_JSON_TYPE: Final = (b"content-type", JSON.encode())


class JsonBytesResponse(Response):
    """Response with encoded JSON and status 200, without starlette's search for headers."""

    media_type = JSON

    def __init__(self, body: bytes) -> None:  # sets all that starlette's constructor sets
        self.status_code = 200
        self.background = None
        self.body = body
        self.raw_headers = [(b"content-length", b"%d" % len(body)), _JSON_TYPE]


def problem_of(error: PairwayError, request_id: str | None) -> Problem:
    """Return an error's problem document."""
    return Problem(
        type=f"urn:pairway:{error.code}",
        title=error.title,
        status=error.http_status,
        code=error.code,
        detail=error.detail,
        request_id=request_id,
        **error.facts,
    )


def problem_response(error: PairwayError, request_id: str | None) -> JSONResponse:
    """Render an error as problem+json, with ``Retry-After`` in whole seconds.

    As HTTP requires, a 401 names the form of the key, and a 415 the accepted bodies.
    """
    headers = retry_headers(error)
    match error:
        case KeyRequiredError():
            headers["WWW-Authenticate"] = 'Bearer realm="pairway"'
        case UnsupportedMediaError():
            headers |= {"Accept": JSON, "Accept-Encoding": "identity"}
        case _:
            pass
    return JSONResponse(problem_of(error, request_id).model_dump(), error.http_status, headers, PROBLEM_JSON)


def retry_headers(error: PairwayError) -> dict[str, str]:
    """Return ``Retry-After`` in whole seconds, if the error has one."""
    return {} if error.retry_after is None else {"Retry-After": str(max(1, math.ceil(error.retry_after)))}


def standalone_problem(error: PairwayError) -> Response:
    """Return the whole response to a request that never reaches the app."""
    request_id = uuid.uuid4().hex
    response = problem_response(error, request_id)
    response.raw_headers += [
        *SECURITY_HEADERS,
        (REQUEST_ID_HEADER.lower().encode(), request_id.encode()),
    ]
    return response


def error_response(request: Request, error: PairwayError) -> Response:
    """Return an error's response in the format of the request's API.

    The error is added to the log line. It loses its tracebacks: it ends here.
    """
    drop_tracebacks(error)
    add_log_fields(request, code=error.code, **error.log_fields)
    add_response_headers(request, error.headers)
    state = request.scope["state"]
    renderer: ErrorRenderer | None = state.get("error_renderer")
    if renderer is None:
        find_renderer: Callable[[str], ErrorRenderer | None] | None = getattr(request.app.state, "find_renderer", None)
        renderer = find_renderer and find_renderer(route_path(request.scope))
    return problem_response(error, state["request_id"]) if renderer is None else renderer(request, error)


def render_errors_with(request: Request, renderer: ErrorRenderer) -> None:
    """Render the request's later errors so, whatever its path."""
    request.scope["state"]["error_renderer"] = renderer
