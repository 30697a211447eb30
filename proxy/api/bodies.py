"""Bodies of operators' requests: bounded and validated."""

from __future__ import annotations

import time
from typing import Final, TypeVar, cast

from fastapi import Request
from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from proxy.context import context
from shared.http.body import read_body
from shared.protocol.deadline import Deadline
from shared.protocol.errors import BadRequestError, InvalidRequestError
from shared.protocol.messages import refuse_repeated_names
from shared.protocol.validation_errors import operator_errors

M = TypeVar("M", bound=BaseModel)

# Enough for a key with 200 pairs, the longest request of an operator.
MAX_BODY_BYTES: Final = 4096
BODY_SECONDS: Final = 5.0


async def read(request: Request, model: type[M]) -> M:
    """Read the body as a model.

    Raises:
        PairwayError: the body is too large, too slow or not JSON, or a field is wrong.
    """
    deadline = Deadline.after(BODY_SECONDS, time.monotonic)
    with context(request).process.body_budget.reserve() as reservation:
        body = await read_body(request, MAX_BODY_BYTES, deadline, reservation)
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
