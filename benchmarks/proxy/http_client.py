"""HTTP client for one request at a time on a connection; fast, because the load generator has little of a core."""

from __future__ import annotations

import asyncio
from typing import Final, NamedTuple, cast

from typing_extensions import override

HEAD_END: Final = b"\r\n\r\n"
LENGTH: Final = b"\r\ncontent-length:"
CHUNKED: Final = b"\r\ntransfer-encoding: chunked"
# The responses here are a few hundred bytes.
MAX_BYTES: Final = 1 << 20


class BrokenHttpError(Exception):
    """The bytes are no HTTP response that this reader knows."""


class HttpResponse(NamedTuple):
    """Status and whole body."""

    status: int
    body: bytes


class ResponseReader:
    """Reads responses; keeps the bytes of one that is not complete yet, at most ``MAX_BYTES``."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[HttpResponse]:
        """Return the responses that are complete with these bytes.

        Raises:
            BrokenHttpError: no more can be read from this connection.
        """
        data = self._rest + data if self._rest else data
        responses: list[HttpResponse] = []
        while (first := _first(data)) is not None:
            response, end = first
            responses.append(response)
            data = data[end:]
        if len(data) > MAX_BYTES:
            raise BrokenHttpError(f"an response of more than {MAX_BYTES} bytes")
        self._rest = data
        return responses


def _first(data: bytes) -> tuple[HttpResponse, int] | None:
    """Return the first response and where it ends, None when it is not complete."""
    begin = data.find(HEAD_END)
    if begin < 0:
        return None
    head = data[:begin].lower()
    begin += len(HEAD_END)
    try:
        status = int(head[9:12])
        if (at := head.find(LENGTH)) >= 0:
            end = begin + int(head[at + len(LENGTH) :].split(b"\r\n", 1)[0])
            return None if len(data) < end else (HttpResponse(status, data[begin:end]), end)
        if CHUNKED in head:
            return _chunked(data, begin, status)
    except ValueError:
        raise BrokenHttpError(f"no HTTP response: {head[:80]!r}") from None
    raise BrokenHttpError("an response that does not say its length")


def _chunked(data: bytes, at: int, status: int) -> tuple[HttpResponse, int] | None:
    """Put the chunks together; trailers are not known here."""
    parts: list[bytes] = []
    while (line_end := data.find(b"\r\n", at)) >= 0:
        size = int(data[at:line_end].split(b";", 1)[0], 16)
        begin = line_end + 2
        at = begin + size + 2
        if len(data) < at:
            return None
        if size == 0:
            return HttpResponse(status, b"".join(parts)), at
        parts.append(data[begin : begin + size])
    return None


class HttpConnection(asyncio.Protocol):
    """Connection with at most one request in flight."""

    def __init__(self) -> None:
        self.closed = False
        self._reader = ResponseReader()
        self._transport: asyncio.Transport | None = None
        self._response: asyncio.Future[HttpResponse] | None = None

    @classmethod
    async def open(cls, port: int) -> HttpConnection:
        """Connect to a port of the loopback."""
        _, connection = await asyncio.get_running_loop().create_connection(cls, "127.0.0.1", port)
        return connection

    def request(self, data: bytes) -> asyncio.Future[HttpResponse]:
        """Send a whole request; the future fails with :class:`BrokenHttpError` or ConnectionError."""
        self._response = asyncio.get_running_loop().create_future()
        if self._transport is None or self.closed:
            self._response.set_exception(ConnectionError("connection lost"))
        else:
            self._transport.write(data)
        return self._response

    def close(self) -> None:
        """Close the connection."""
        if self._transport is not None:
            self._transport.close()

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    @override
    def data_received(self, data: bytes) -> None:
        try:
            responses = self._reader.feed(data)
        except BrokenHttpError as error:
            self._fail(error)
            self.close()
            return
        for response in responses:
            if self._response is not None and not self._response.done():
                self._response.set_result(response)

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
        self._fail(ConnectionError("connection lost"))

    def _fail(self, error: Exception) -> None:
        if self._response is not None and not self._response.done():
            self._response.set_exception(error)
