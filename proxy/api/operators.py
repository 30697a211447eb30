"""Operators and observers: their exchanges, and the bodies of operators' requests."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Annotated, Any, Final, TypeVar

from fastapi import Depends, Request
from fastapi.security import HTTPBearer
from pydantic import BaseModel

from proxy.api.http_exchange import exchange_of
from proxy.context import context
from proxy.exchange.exchange import SMALL_SECONDS, RequestExchange
from shared.http.body import OPERATOR_BODY_BYTES, OPERATOR_READER

M = TypeVar("M", bound=BaseModel)

# OpenAPI of the header that the dependencies read.
_SCHEME: Final = Depends(
    HTTPBearer(
        scheme_name="operator", description="PROXY_OPERATOR_TOKEN, or an API key of scope operate.", auto_error=False
    )
)
_READER_SCHEME: Final = Depends(
    HTTPBearer(
        scheme_name="observer",
        description="PROXY_OBSERVER_TOKEN or PROXY_OPERATOR_TOKEN, or an API key of scope observe or operate.",
        auto_error=False,
    )
)


async def enter(request: Request, _: Any = _SCHEME) -> AsyncGenerator[RequestExchange]:
    """Identify an operator; raise PairwayError without a valid token or key."""
    with exchange_of(request, SMALL_SECONDS) as exchange:
        await exchange.require_operator()
        yield exchange


async def enter_observer(request: Request, _: Any = _READER_SCHEME) -> None:
    """Identify an observer or operator; raise PairwayError without token or key."""
    with exchange_of(request, SMALL_SECONDS) as exchange:
        await exchange.require_observer()


async def require_watcher(request: Request, _: Any = _READER_SCHEME) -> None:
    """Require an observer or operator if keys are on; otherwise nobody."""
    if context(request).keys.authenticator.on:
        await enter_observer(request)


OPERATOR: Final = Depends(enter)
OBSERVER: Final = Depends(enter_observer)
WATCHER: Final = Depends(require_watcher)
# The exchange of a path that depends on OPERATOR.
Entered = Annotated[RequestExchange, OPERATOR]


async def read(exchange: RequestExchange, model: type[M]) -> M:
    """Read the body as a model.

    Raises:
        PairwayError: the body is too large, too slow or not JSON, or a field is wrong.
    """
    return await exchange.read_model(OPERATOR_READER, model, OPERATOR_BODY_BYTES)
