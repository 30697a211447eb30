"""Problems (RFC 9457): errors as responses, and the app's handlers that render them."""

from __future__ import annotations

import math
import uuid
from collections.abc import Sequence
from typing import Final

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.routing import Match

from shared.http.request_context import RequestContext, add_log_fields, add_response_headers
from shared.http.security_headers import add_cors, security_headers_for
from shared.protocol import bearer_token
from shared.protocol.access_errors import KeyRequiredError
from shared.protocol.errors import (
    InternalError,
    MethodNotAllowedError,
    NotFoundError,
    PairwayError,
    UnsupportedMediaError,
)
from shared.protocol.headers import REQUEST_ID_HEADER
from shared.protocol.messages import Problem

JSON: Final = "application/json"
PROBLEM_JSON: Final = "application/problem+json"


def problem_of(error: PairwayError, request_id: str | None) -> Problem:
    """Return an error as the client reads it."""
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
    """Render an error as problem+json, with ``Retry-After`` in whole seconds where it has one.

    A 401 says in which form the key is to come, and a 415 which bodies are read, as HTTP wants it.
    """
    headers = {} if error.retry_after is None else {"Retry-After": str(max(1, math.ceil(error.retry_after)))}
    match error:
        case KeyRequiredError():
            headers["WWW-Authenticate"] = 'Bearer realm="pairway"'
        case UnsupportedMediaError():
            headers |= {"Accept": JSON, "Accept-Encoding": "identity"}
        case _:
            pass
    return JSONResponse(problem_of(error, request_id).model_dump(), error.http_status, headers, PROBLEM_JSON)


def standalone_problem(error: PairwayError) -> Response:
    """Return the whole response to a request that the app does not see."""
    request_id = uuid.uuid4().hex
    response = problem_response(error, request_id)
    response.raw_headers += [
        *security_headers_for(""),
        (REQUEST_ID_HEADER.lower().encode(), request_id.encode()),
    ]
    return response


def logged_problem_response(request: Request, error: PairwayError) -> Response:
    """Return the answer to a request that failed, with the error's headers, and note why for its log line."""
    add_log_fields(request, code=error.code, **error.log_fields)
    add_response_headers(request, error.headers)
    return problem_response(error, request.scope["state"]["request_id"])


def configure_app(app: FastAPI, origins: Sequence[str] = ()) -> None:
    """Configure an app as both servers are: one error form, request ids, one log line per request.

    Pages of ``origins`` ("*": of any) may ask us; never with cookies, of which we have none.
    """

    async def render(request: Request, error: Exception) -> Response:  # a plain function would cost a thread each time
        current: str | None = request.scope.get("state", {}).get("request_id")
        match error:
            case PairwayError():
                return logged_problem_response(request, error)
            case HTTPException(status_code=404):
                return problem_response(
                    NotFoundError(f"There is no {bearer_token.mask_secrets(request.url.path)} here."), current
                )
            case HTTPException(status_code=405):
                allowed = ", ".join(sorted(_allowed_methods(request))) or "another method"
                detail = f"{bearer_token.mask_secrets(request.url.path)} takes {allowed}, not {request.method}."
                response = problem_response(MethodNotAllowedError(detail), current)
                response.headers["Allow"] = allowed
                return response
            case _:
                response = problem_response(InternalError("Something went wrong on our side."), current)
                if current is not None:  # this response passes no RequestContext
                    response.headers[REQUEST_ID_HEADER] = current
                    response.raw_headers.extend(security_headers_for(""))
                return response

    for kind in (PairwayError, HTTPException, Exception):
        app.add_exception_handler(kind, render)
    if origins:
        add_cors(app, origins)
    app.add_middleware(RequestContext)


def _allowed_methods(request: Request) -> set[str]:
    """Return what the path takes; Starlette itself names only the first of its routes."""
    methods: set[str] = set()
    for route in request.app.routes:
        if route.matches(request.scope)[0] is not Match.NONE:
            methods |= route.methods or set()
    return methods
