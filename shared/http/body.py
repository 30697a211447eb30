"""Request bodies, within a limit for each and a budget for all."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Final, Self, TypeVar, cast

from fastapi import Request
from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from shared.http.problems import JSON
from shared.http.request_context import request_header
from shared.protocol.deadline import Deadline
from shared.protocol.errors import (
    BadRequestError,
    ClientGoneError,
    InvalidRequestError,
    OverloadedError,
    TooLargeError,
    UnsupportedMediaError,
)
from shared.protocol.request_parser import refuse_repeated_names
from shared.protocol.validation_errors import operator_errors

M = TypeVar("M", bound=BaseModel)

# ASGI extension in a request's scope once its whole body has arrived; only our own server sets it.
WHOLE_BODY_EXTENSION: Final = "pairway.whole_body"
# Enough for a key with 200 pairs, the longest request of an operator.
OPERATOR_BODY_BYTES: Final = 4096
OPERATOR_BODY_SECONDS: Final = 5.0
# Even the largest body is answered or refused in less time.
BODY_RETRY_AFTER_SECONDS: Final = 1.0


class BodyReservation:
    """One request's part of the budget, until its block ends."""

    __slots__ = ("_budget", "size")

    def __init__(self, budget: ByteBudget) -> None:
        self._budget = budget
        self.size = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def release(self) -> None:
        """Release all bytes before the block ends."""
        self._budget.reserved -= self.size
        self.size = 0

    def take(self, size: int) -> None:
        """Reserve ``size`` more bytes, or raise OverloadedError if the budget lacks them."""
        if self._budget.reserved + size > self._budget.limit:
            raise OverloadedError(
                f"The bodies of requests in flight fill this server's limit of {self._budget.limit} bytes.",
                retry_after=BODY_RETRY_AFTER_SECONDS,
            )
        self._budget.reserved += size
        self.size += size


@dataclass(slots=True)
class ByteBudget:
    """Limit on the bytes reserved at once. Not thread-safe."""

    limit: int
    reserved: int = 0

    def reserve(self) -> BodyReservation:
        """Return an empty reservation for one request."""
        return BodyReservation(self)


async def read_json_body(request: Request, limit: int, deadline: Deadline, reservation: BodyReservation) -> bytes:
    """Read a body that must be declared as JSON; otherwise as :func:`read_body`."""
    content_type = (request_header(request, "content-type") or "").partition(";")[0].strip().lower()
    if content_type != JSON:
        raise UnsupportedMediaError(f"The body must come with the header Content-Type: {JSON}.")
    return await read_body(request, limit, deadline, reservation)


async def read_body(request: Request, limit: int, deadline: Deadline, reservation: BodyReservation) -> bytes:
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
    declared = request_header(request, "content-length")
    if declared is not None and declared.isascii() and declared.isdigit() and int(declared) > limit:
        raise TooLargeError("The body", size=int(declared), limit=limit, unit="bytes")
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
    try:
        value: object = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise BadRequestError(f"The body is not JSON: {error}.") from None
    if not isinstance(value, dict):
        raise BadRequestError("The body is JSON, but not an object.")
    refuse_repeated_names(body)
    return validated(model, cast("dict[str, object]", value))


def validated(model: type[M], members: dict[str, object]) -> M:
    """Return the model with these members; raise InvalidRequestError that names wrong ones."""
    try:
        return model.model_validate(members)
    except ValidationError as error:
        raise InvalidRequestError(operator_errors(error, model)) from None


async def _read_parts(request: Request, limit: int, reservation: BodyReservation) -> bytes:
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
        reservation.take(len(part))
        parts.append(part)
        if not message.get("more_body", False):
            return parts[0] if len(parts) == 1 else b"".join(parts)
