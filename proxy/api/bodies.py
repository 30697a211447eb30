"""Bodies of operators' requests, within this proxy's budget."""

from __future__ import annotations

from typing import TypeVar

from fastapi import Request
from pydantic import BaseModel

from proxy.context import context
from shared.http.body import read_operator_body

M = TypeVar("M", bound=BaseModel)


async def read(request: Request, model: type[M]) -> M:
    """Read the body as a model.

    Raises:
        PairwayError: the body is too large, too slow or not JSON, or a field is wrong.
    """
    return await read_operator_body(request, model, context(request).process.body_budget)
