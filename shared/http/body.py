"""Request bodies, within a limit for each and a budget for all."""

from __future__ import annotations

import asyncio
import time
from typing import Final, TypeVar

from fastapi import Request
from pydantic import BaseModel

from shared.http.request_context import request_header
from shared.parsing.byte_budget import ByteBudget, Reservation
from shared.parsing.json_reader import ModelReader, require_json
from shared.protocol.deadline import Deadline
from shared.protocol.errors import (
    ClientGoneError,
    TooLargeError,
    UnsupportedMediaError,
)
from shared.protocol.validation_errors import operator_refusal

M = TypeVar("M", bound=BaseModel)

# ASGI extension in a request's scope once its whole body has arrived; only our own server sets it.
WHOLE_BODY_EXTENSION: Final = "pairway.whole_body"
# Enough for a key with 200 pairs, the longest request of an operator.
OPERATOR_BODY_BYTES: Final = 4096
OPERATOR_BODY_SECONDS: Final = 5.0
# One of that size holds no more values.
OPERATOR_READER: Final = ModelReader(None, OPERATOR_BODY_BYTES, operator_refusal)
# Bodies are kept in blocks of this size, which others reuse: whole ones that grow leave holes of every size.
BLOCK_BYTES: Final = 65_536


async def read_json_body(request: Request, limit: int, deadline: Deadline, reservation: Reservation) -> bytes:
    """Read a body that must be declared as JSON; otherwise as :func:`read_body`."""
    require_json(request_header(request, "content-type"))
    return await read_body(request, limit, deadline, reservation)


def declared_bytes(request: Request) -> int:
    """Return the body's declared length, 0 without a valid one."""
    declared = request_header(request, "content-length")
    return int(declared) if declared is not None and declared.isascii() and declared.isdigit() else 0


async def read_body(request: Request, limit: int, deadline: Deadline, reservation: Reservation) -> bytes:
    """Read a body of any type; refuse more than ``limit`` bytes.

    Raises:
        UnsupportedMediaError: the body is compressed.
        TooLargeError: ``Content-Length`` or the bytes read exceed the limit.
        DeadlineExceededError: the body came too slowly.
        OverloadedError: other bodies fill the budget.
        ClientGoneError: the client disconnected.
    """
    if (request_header(request, "content-encoding") or "").strip().lower() not in {"", "identity"}:
        raise UnsupportedMediaError("The body is compressed (Content-Encoding); send it uncompressed.")
    if (declared := declared_bytes(request)) > limit:
        raise TooLargeError("The body", size=declared, limit=limit, unit="bytes")
    if WHOLE_BODY_EXTENSION in request.scope.get("extensions", ()):
        return await _read_parts(request, limit, reservation)
    try:
        async with asyncio.timeout(deadline.remaining()):
            return await _read_parts(request, limit, reservation)
    except TimeoutError:
        raise deadline.exceeded_error() from None


async def read_operator_body(request: Request, model: type[M], budget: ByteBudget) -> M:
    """Read an operator's request as a model.

    Raises:
        PairwayError: the body is too large, too slow or not JSON, or a field is wrong.
    """
    deadline = Deadline.after(OPERATOR_BODY_SECONDS, time.monotonic)
    with budget.reserve() as reservation:
        body = await read_json_body(request, OPERATOR_BODY_BYTES, deadline, reservation)
    return OPERATOR_READER.read(body, model)


async def _read_parts(request: Request, limit: int, reservation: Reservation) -> bytes:
    blocks: list[bytes] = []
    rest = bytearray()  # small parts together: an object for each byte that a slow client sends would take 33 more
    size = 0
    while True:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientGoneError
        part: bytes = message.get("body", b"")
        size += len(part)
        if size > limit:
            raise TooLargeError("The body", size=None, limit=limit, unit="bytes")
        reservation.take(len(part))
        if not message.get("more_body", False):
            return b"".join((*blocks, rest, part)) if blocks or rest else part
        rest += part
        if len(rest) >= BLOCK_BYTES:
            blocks.append(bytes(rest))
            rest.clear()
