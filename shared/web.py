"""What both servers' HTTP surfaces share: errors, request ids, bodies, disconnects."""

from __future__ import annotations

import asyncio
import math
import uuid
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.exceptions import HTTPException
from starlette.routing import Match

from shared import browsers, token
from shared.access_errors import KeyRequiredError
from shared.deadline import MAX_MILLISECONDS, TIMEOUT_HEADER
from shared.departure import Watch, departure_of
from shared.errors import (
    ClientGoneError,
    InternalError,
    MethodNotAllowedError,
    NotFoundError,
    PairwayError,
    TooLargeError,
    UnsupportedMediaError,
)
from shared.priority import PRIORITY_HEADER, Priority
from shared.request_context import RequestContext
from shared.request_id import REQUEST_ID_HEADER
from shared.wire import Problem

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable, Mapping, Sequence

    from prometheus_client.registry import Collector
    from pydantic import BaseModel

    from shared.background import Loop
    from shared.budget import Hold
    from shared.deadline import Deadline

T = TypeVar("T")

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


def whole_problem(error: PairwayError) -> Response:
    """Return the error as every problem of ours is answered, for requests that the app does not see."""
    request_id = uuid.uuid4().hex
    response = problem_response(error, request_id)
    response.raw_headers += [*browsers.protection(""), (REQUEST_ID_HEADER.lower().encode(), request_id.encode())]
    return response


def answer_problem(request: Request, error: PairwayError) -> Response:
    """Return the answer to a request that failed, and note why for its log line."""
    log_fields(request, code=error.code)
    return problem_response(error, request.scope["state"]["request_id"])


def install(app: FastAPI, origins: Sequence[str] = ()) -> None:
    """Give an app the habits of both servers: one error form, request ids, one log line per request.

    Pages of ``origins`` ("*": of any) may ask us; never with cookies, of which we have none.
    """

    async def render(request: Request, error: Exception) -> Response:  # a plain function would cost a thread each time
        current: str | None = request.scope.get("state", {}).get("request_id")
        match error:
            case PairwayError():
                return answer_problem(request, error)
            case HTTPException(status_code=404):
                return problem_response(NotFoundError(f"There is no {token.masked(request.url.path)} here."), current)
            case HTTPException(status_code=405):
                allowed = ", ".join(sorted(_methods_of(request))) or "another method"
                detail = f"{token.masked(request.url.path)} takes {allowed}, not {request.method}."
                response = problem_response(MethodNotAllowedError(detail), current)
                response.headers["Allow"] = allowed
                return response
            case _:
                response = problem_response(InternalError("Something went wrong on our side."), current)
                if current is not None:  # this answer is made outside of RequestContext
                    response.headers[REQUEST_ID_HEADER] = current
                    response.raw_headers.extend(browsers.protection(""))
                return response

    for kind in (PairwayError, HTTPException, Exception):
        app.add_exception_handler(kind, render)
    if origins:
        browsers.let_in(app, origins)
    app.add_middleware(RequestContext)


def _methods_of(request: Request) -> set[str]:
    """Return what the path takes; Starlette itself names only the first of its routes."""
    methods: set[str] = set()
    for route in request.app.routes:
        if route.matches(request.scope)[0] is not Match.NONE:
            methods |= route.methods or set()
    return methods


def log_fields(request: Request, **fields: object) -> None:
    """Add fields to the request's one log line (pair, replica, number of texts; never texts)."""
    request.scope["state"].setdefault("log", {}).update(fields)


def answer_headers(request: Request, headers: Mapping[str, str]) -> None:
    """Add headers to the request's answer, whatever it will be."""
    encoded = {name.lower().encode("latin-1"): value.encode("latin-1") for name, value in headers.items()}
    request.scope["state"].setdefault("headers", {}).update(encoded)


async def read_body(request: Request, limit: int, deadline: Deadline, hold: Hold) -> bytes:
    """Read the body, refusing it as soon as it is known to pass ``limit`` bytes.

    Raises:
        UnsupportedMediaError: the body is compressed, or not said to be JSON.
        TooLargeError: by ``Content-Length`` at once, else when the bytes read pass the limit.
        DeadlineExceededError: it came too slowly.
        OverloadedError: the bodies in hand, held by ``hold`` until it ends, leave no room.
        ClientGoneError: the client hung up in mid-body.
    """
    _check_kind(request)
    declared = request.headers.get("content-length")
    if declared is not None and declared.isascii() and declared.isdigit() and int(declared) > limit:
        raise TooLargeError("The body", size=int(declared), limit=limit, unit="bytes")
    try:
        async with asyncio.timeout(deadline.remaining()):
            return await _read_parts(request, limit, hold)
    except TimeoutError:
        raise deadline.exceeded() from None


def _check_kind(request: Request) -> None:
    """Refuse what a page of another origin can send without being asked: any body that is not said to be JSON."""
    if ", ".join(request.headers.getlist("content-encoding")).strip().lower() not in {"", "identity"}:
        raise UnsupportedMediaError("The body is compressed (Content-Encoding); send it as plain JSON.")
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != JSON:
        raise UnsupportedMediaError(f"The body must come with the header Content-Type: {JSON}.")


async def _read_parts(request: Request, limit: int, hold: Hold) -> bytes:
    parts: list[bytes] = []
    size = 0
    while True:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientGoneError
        part: bytes = message.get("body", b"")
        size += len(part)
        if size > limit:
            raise TooLargeError("The body", size=None, limit=limit, unit="bytes")
        hold.take(len(part))
        parts.append(part)
        if not message.get("more_body", False):
            return parts[0] if len(parts) == 1 else b"".join(parts)


async def while_connected(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Await the work, but cancel it as soon as the client hangs up; the body must have been read before.

    Raises:
        ClientGoneError: the client hung up; the work was cancelled and has ended.
    """
    departure = departure_of(request)
    if departure is not None and departure.happened:
        work.close()
        raise ClientGoneError
    gone = False
    own = cast("asyncio.Task[Any]", asyncio.current_task())  # a coroutine runs in one

    def leave() -> None:
        nonlocal gone
        gone = True
        own.cancel()

    with Watch(request, leave):
        try:
            return await work
        except BaseException:
            if gone and own.cancelling() == 1:  # nobody else wants it cancelled; compare asyncio.timeout
                raise ClientGoneError from None
            raise
        finally:
            if gone:
                own.uncancel()


_REQUEST_ID_DOC: Final = {
    REQUEST_ID_HEADER: ("Comes back, and stands in every log line; made where absent.", {"type": "string"})
}
TRANSLATE_HEADERS: Final = {
    TIMEOUT_HEADER: ("Milliseconds the client waits.", {"type": "integer", "minimum": 1, "maximum": MAX_MILLISECONDS}),
    PRIORITY_HEADER: ("How urgent it is; the least urgent is refused first.", {"enum": list(Priority)}),
}


def body_documentation(
    model: type[BaseModel], more: Mapping[str, tuple[str, dict[str, Any]]] | None = None
) -> dict[str, Any]:
    """Return the OpenAPI description of a body and the headers that the handler reads by itself, ``more`` beside the id."""
    schema = model.model_json_schema()
    headers = _REQUEST_ID_DOC | dict(more or {})
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


METRICS_DOC: Final[dict[int | str, dict[str, Any]]] = {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}
PROBE_DOC: Final[dict[int | str, dict[str, Any]]] = {503: {"content": {JSON: {}}}}


def metrics_response(registry: Collector) -> Response:
    """Render a registry in Prometheus' text format."""
    # generate_latest needs only collect(), which every Collector has.
    return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)  # pyright: ignore[reportArgumentType]


def livez(loops: Iterable[Loop]) -> JSONResponse:
    """Answer 200 while every loop ticks, 503 with the names of those that do not."""
    dead = [loop.name for loop in loops if loop.is_stale()]
    return JSONResponse({"alive": not dead, "stale_loops": dead}, 503 if dead else 200)
