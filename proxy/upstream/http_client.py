"""HTTP/1.1 client with keep-alive connections (docs/decisions/0003-http-client.md)."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Generator
from typing import Any, Final, cast

from typing_extensions import override

from proxy.upstream.address import Address
from proxy.upstream.answer_parser import AnswerParser
from proxy.upstream.errors import ConnectTimeoutError, SilentError, UnreachableError
from proxy.upstream.response_classifier import ReplicaResponse
from proxy.upstream.stream_reader import StreamReader
from shared.runtime.logging import describe_connection_error

IDLE_SECONDS: Final = 30.0  # servers keep them longer, so close none during a request
MAX_IDLE: Final = 512  # connections per replica; more are rare
PART_BYTES: Final = 256 * 1024  # one write; above 64 KiB, so that the transport calls resume_writing() later


class Endpoint:
    """One replica's address and its idle connections."""

    def __init__(self, address: Address, connect_timeout: float) -> None:
        self.address = address
        self.connect_timeout = connect_timeout
        self.idle: list[UpstreamConnection] = []  # the last used one is the last
        self.max_idle = MAX_IDLE
        self.used_at = -math.inf

    def take_idle(self, now: float) -> UpstreamConnection | None:
        """Return an idle connection that can be used again; None without one."""
        while self.idle:
            connection = self.idle.pop()
            if connection.idle_since + IDLE_SECONDS > now and connection.is_connected:
                return connection
            connection.abort()
        return None

    def close_idle(self, unused_since: float = math.inf) -> None:
        """Close connections idle since before ``unused_since``.

        If no request was sent since then either, the endpoint keeps no connection any more.
        """
        old = [connection for connection in self.idle if connection.idle_since < unused_since]
        self.idle = self.idle[len(old) :]
        self.max_idle = MAX_IDLE if self.idle or self.used_at >= unused_since else 0
        for connection in old:
            connection.abort()


class Exchange:
    """One request and its response: await it once.

    Cancelling closes the connection, which cancels the work at the replica.
    """

    __slots__ = ("_future", "_timer", "connection", "endpoint", "is_repeatable", "limit", "message", "reader")

    def __init__(
        self,
        endpoint: Endpoint,
        message: bytes,
        seconds: float,
        limit: int,
        *,
        reader: StreamReader | None = None,
        is_repeatable: bool = False,
    ) -> None:
        """Send the request; ``limit`` bounds the answer's bytes.

        A repeatable request is sent again if an idle connection is dead.
        """
        loop = asyncio.get_running_loop()
        self.endpoint, self.message, self.limit, self.reader = endpoint, message, limit, reader
        self.is_repeatable = is_repeatable
        self._future: asyncio.Future[ReplicaResponse] = loop.create_future()
        endpoint.used_at = loop.time()
        self._timer = loop.call_later(seconds, lambda: self.abandon(SilentError("no answer in time")))
        self.connection: UpstreamConnection | None = endpoint.take_idle(endpoint.used_at) or UpstreamConnection(self)
        if self.connection.idle_since:
            self.connection.send(self)

    def __await__(self) -> Generator[Any, None, ReplicaResponse]:
        try:
            return (yield from self._future.__await__())
        finally:
            self._timer.cancel()
            self._close()

    @property
    def is_open(self) -> bool:
        """Whether there is no response and no error yet."""
        return not self._future.done()

    def abandon(self, error: Exception) -> None:
        """End the exchange with this error, unless it has ended."""
        if not self._future.done():
            self._future.set_exception(error)
            self._close()

    def finish(self, response: ReplicaResponse) -> None:
        """End the exchange with the response, without closing the connection."""
        self.connection = None
        if not self._future.done():
            self._future.set_result(response)

    def _close(self) -> None:
        connection, self.connection = self.connection, None
        if connection is not None:
            connection.abort()


class UpstreamConnection(asyncio.Protocol):
    """One connection; reused only after a complete request and answer."""

    def __init__(self, exchange: Exchange) -> None:
        self.idle_since = 0.0
        self._endpoint = exchange.endpoint
        self._exchange: Exchange | None = exchange
        self._answer = AnswerParser()
        self._transport: asyncio.Transport | None = None
        self._unsent = memoryview(b"")
        self._opening = asyncio.create_task(self._open(exchange))

    @property
    def is_connected(self) -> bool:
        """Whether neither side has closed it."""
        return self._transport is not None and not self._transport.is_closing()

    async def _open(self, exchange: Exchange) -> None:
        address, loop = self._endpoint.address, asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._endpoint.connect_timeout):
                await loop.create_connection(lambda: self, address.host, address.port, ssl=address.tls)
        except TimeoutError:
            exchange.abandon(ConnectTimeoutError("no connection in time"))
        except Exception as error:  # noqa: BLE001 - whatever failed, nothing was sent
            exchange.abandon(UnreachableError(f"cannot connect: {describe_connection_error(error)}"))
        else:
            if self._exchange is not None:  # else it was abandoned
                self.send(exchange)

    def send(self, exchange: Exchange) -> None:
        """Send the exchange's request."""
        self._exchange = exchange
        self._answer.begin(exchange.limit, exchange.reader)
        self._unsent = memoryview(exchange.message)
        if not exchange.is_repeatable:
            exchange.message = b""  # it lives until it is sent, not until the answer
        self.resume_writing()

    def abort(self) -> None:
        """Close the connection now, or cancel its opening."""
        self._exchange = None
        if self._transport is not None:
            self._transport.abort()
        else:
            self._opening.cancel()

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    @override
    def resume_writing(self) -> None:
        while self._unsent and self._transport is not None and self._transport.get_write_buffer_size() < PART_BYTES:
            part, self._unsent = self._unsent[:PART_BYTES], self._unsent[PART_BYTES:]
            self._transport.write(part)

    @override
    def data_received(self, data: bytes) -> None:
        if self._exchange is None:  # bytes without a request
            self.abort()
        else:
            self._receive(self._exchange, data)

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        exchange, self._unsent = self._exchange, memoryview(b"")
        if self in self._endpoint.idle:
            self._endpoint.idle.remove(self)
        if exchange is not None and exchange.is_repeatable and self.idle_since and not self._answer.received:
            self._exchange, exchange.connection = None, UpstreamConnection(exchange)
        elif exchange is not None:
            self._receive(exchange, None, exc)

    def _receive(self, exchange: Exchange, data: bytes | None, exc: Exception | None = None) -> None:
        """Parse a part of the answer; None is the connection's end."""
        try:
            response = self._answer.end(exc) if data is None else self._answer.feed(data)
        except Exception as error:  # noqa: BLE001 - raised where the response is awaited
            exchange.abandon(error)
            return
        if response is None:
            return
        exchange.finish(response)
        self._exchange = None
        is_sent = not self._unsent and self._transport is not None and not self._transport.get_write_buffer_size()
        if is_sent and self._answer.is_reusable and len(self._endpoint.idle) < self._endpoint.max_idle:
            self.idle_since = asyncio.get_running_loop().time()
            self._endpoint.idle.append(self)
        else:
            self.abort()
