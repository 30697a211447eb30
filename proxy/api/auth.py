"""Operators' orders over HTTP: who may give them, and how they are read."""

from __future__ import annotations

import time
from functools import partial
from typing import Final, TypeVar, cast

from fastapi import Depends, Request
from fastapi.security import HTTPBearer
from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from proxy.context import ProxyContext
from shared.http.body import read_body
from shared.http.request_context import add_log_fields
from shared.protocol.deadline import Deadline
from shared.protocol.errors import BadRequestError, InvalidRequestError
from shared.protocol.validation_errors import operator_errors

M = TypeVar("M", bound=BaseModel)

# A URL and a weight, or a key with some hundred pairs; whatever is longer is no order of an operator's.
MAX_BODY_BYTES: Final = 4096
BODY_SECONDS: Final = 5.0
# Documents what authorize() reads by itself.
OPERATOR: Final = Depends(
    HTTPBearer(scheme_name="operator", description="PROXY_OPERATOR_TOKEN, or a key to operate.", auto_error=False)
)


def _parts(request: Request) -> ProxyContext:
    return request.app.state.parts


def note_key(request: Request, key_id: str) -> None:
    """Put who asks on the request's log line: the id of their key, which opens nothing."""
    add_log_fields(request, key=key_id)


async def authorize(request: Request) -> None:
    """Let in an operator.

    Raises:
        PairwayError: nothing was shown that opens this.
    """
    await _parts(request).access.operate(request.headers.get("authorization"), partial(note_key, request))


async def watch(request: Request) -> None:
    """Let in who looks at the fleet: an operator where keys are on, anybody where they are off.

    Raises:
        PairwayError: keys are on, and nothing was shown that opens this.
    """
    await _parts(request).access.watch(request.headers.get("authorization"), partial(note_key, request))


async def read(request: Request, model: type[M]) -> M:
    """Read an operator's order.

    Raises:
        PairwayError: it is too large, too slow, no JSON, or a field of it is wrong.
    """
    deadline = Deadline.after(BODY_SECONDS, time.monotonic)
    with _parts(request).bodies.reserve() as hold:
        body = await read_body(request, MAX_BODY_BYTES, deadline, hold)
    try:
        value: object = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise BadRequestError(f"The body is no JSON: {error}.") from None
    if not isinstance(value, dict):
        raise BadRequestError("The body is JSON, but not an object.")
    return validated(model, cast("dict[str, object]", value))


def validated(model: type[M], members: dict[str, object]) -> M:
    """Return an order of these members.

    Raises:
        InvalidRequestError: some are wrong; it names them.
    """
    try:
        return model.model_validate(members)
    except ValidationError as error:
        raise InvalidRequestError(operator_errors(error, model)) from None
