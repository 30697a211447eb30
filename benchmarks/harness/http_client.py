"""HTTP client of the load generator: keep-alive connections, and little CPU, for the servers need the cores."""

from __future__ import annotations

import asyncio
from typing import Final, NamedTuple, cast
from urllib.parse import urlsplit

import httptools
from typing_extensions import override

# Longer than any time-out of the servers: a request that nobody answers shows as one.
TIMEOUT_SECONDS: Final = 60.0


class HttpResponse(NamedTuple):
    """Status, headers (names in small letters) and whole body."""

    status: int
    headers: dict[bytes, bytes]
    body: bytes


class HttpConnection(asyncio.Protocol):
    """Connection with at most one request in flight."""

    def __init__(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._headers: dict[bytes, bytes] = {}
        self._body = b""
        self._response: asyncio.Future[HttpResponse] | None = None

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def request(self, data: bytes) -> asyncio.Future[HttpResponse]:
        """Send a whole request; the future fails with ConnectionError."""
        self._response = asyncio.get_running_loop().create_future()
        if self.transport.is_closing():
            self._fail("it was closed")
        self.transport.write(data)
        return self._response

    @override
    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._fail(f"no HTTP response: {error}")
            self.transport.close()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._fail("connection lost")

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header of the response."""
        self._headers[name.lower()] = value

    def on_body(self, body: bytes) -> None:
        """Keep a part of the body."""
        self._body += body

    def on_message_complete(self) -> None:
        """Hand the response over."""
        if not self._parser.should_keep_alive():
            self.transport.close()
        if self._response is not None and not self._response.done():
            self._response.set_result(HttpResponse(self._parser.get_status_code(), self._headers, self._body))
        self._headers, self._body = {}, b""

    def _fail(self, why: str) -> None:
        if self._response is not None and not self._response.done():
            self._response.set_exception(ConnectionError(why))


class HttpClient:
    """Posts JSON to one URL, from one client address, over as many connections as there are requests in flight."""

    def __init__(self, url: str, address: str = "127.0.0.1", timeout: float = TIMEOUT_SECONDS) -> None:
        parts = urlsplit(url)
        self._server = parts.hostname or "127.0.0.1", parts.port or 80
        self._address = address
        self._timeout = timeout
        self._head = f"POST {parts.path or '/'} HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Type: application/json\r\n"
        self._idle: list[HttpConnection] = []

    async def post(self, body: bytes, headers: str = "") -> HttpResponse:
        """Post a body, with further lines of the head (each ends with CRLF).

        Raises:
            OSError: no connection, or it broke; TimeoutError is one of them.
        """
        connection: HttpConnection | None = None
        try:
            async with asyncio.timeout(self._timeout):
                connection = await self._connection()
                head = f"{self._head}{headers}Content-Length: {len(body)}\r\n\r\n"
                response = await connection.request(head.encode() + body)
        except BaseException:
            if connection is not None:
                connection.transport.close()
            raise
        self._idle.append(connection)
        return response

    def close(self) -> None:
        """Close every connection."""
        for connection in self._idle:
            connection.transport.close()

    async def _connection(self) -> HttpConnection:
        while self._idle:
            connection = self._idle.pop()
            if not connection.transport.is_closing():
                return connection
        loop = asyncio.get_running_loop()
        return (await loop.create_connection(HttpConnection, *self._server, local_addr=(self._address, 0)))[1]
