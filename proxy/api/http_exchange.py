"""HTTP exchanges: requests of HTTP as peers of exchanges."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, Final, TypeVar
from urllib.parse import unquote_to_bytes

from fastapi import Depends, Request
from fastapi.security import HTTPBearer

from proxy.context import context
from proxy.exchange.exchange import NO_WAIT, RequestExchange, WaitPolicy
from proxy.exchange.translation_run import TranslationRun
from shared.http.body import WHOLE_BODY_EXTENSION, read_body
from shared.http.disconnect import while_connected
from shared.http.request_context import add_log_fields, add_response_headers
from shared.parsing.byte_budget import Reservation
from shared.protocol.deadline import Deadline

T = TypeVar("T")

# OpenAPI of the header that exchanges read; NO_KEY says that it may not be needed.
KEY: Final = Depends(
    HTTPBearer(scheme_name="key", description="An API key; needed if keys are on (PROXY_KEYS).", auto_error=False)
)
NO_KEY: Final[dict[str, Any]] = {"security": [{}]}


class HttpPeer:
    """Client of one HTTP request."""

    __slots__ = ("_request", "address", "headers", "query", "request_id")

    def __init__(self, request: Request) -> None:
        scope = request.scope
        client, state = scope["client"], scope["state"]
        self._request = request
        self.headers: Mapping[str, str] = state["headers"]
        self.request_id: str = state["request_id"]
        self.address: str = client[0] if client else ""
        self.query: bytes = scope["query_string"]

    @property
    def has_whole_body(self) -> bool:
        """Whether the server has read the whole body."""
        return WHOLE_BODY_EXTENSION in self._request.scope.get("extensions", ())

    def shows_in_url(self, text: str) -> bool:
        """Return whether the path or the query contains the text."""
        return text in self._request.scope["path"] or text.encode() in unquote_to_bytes(self.query)

    def read_body(self, limit: int, deadline: Deadline, reservation: Reservation) -> Awaitable[bytes]:
        """Read the body as :func:`read_body`."""
        return read_body(self._request, limit, deadline, reservation)

    def while_connected(
        self, work: Coroutine[Any, Any, T], outlives_client: Callable[[Any, Callable[[], None]], bool] | None = None
    ) -> Awaitable[T]:
        """Await the work as :func:`while_connected`."""
        return while_connected(self._request, work, outlives_client)

    def add_log_fields(self, **fields: object) -> None:
        """Add fields to the request's log line."""
        add_log_fields(self._request, **fields)

    def add_answer_headers(self, headers: Mapping[str, str]) -> None:
        """Add headers to the response, even to an error."""
        add_response_headers(self._request, headers)


def exchange_of(request: Request, seconds: float | None = None, *, counts: bool = True) -> RequestExchange:
    """Return the exchange of an HTTP request; arguments as for RequestExchange."""
    return RequestExchange(HttpPeer(request), context(request), seconds=seconds, counts=counts)


def translation_run(request: Request, waits: WaitPolicy = NO_WAIT) -> TranslationRun:
    """Return the exchange of an HTTP request that translates."""
    return TranslationRun(HttpPeer(request), context(request), waits)
