"""HTTP/1.1 client: addresses, keep-alive connections, answers (docs/decisions/0003-http-client.md)."""

from __future__ import annotations

import asyncio
import math
import ssl
from collections.abc import Generator
from functools import cache
from typing import Any, Final, NamedTuple, cast
from urllib.parse import urlsplit

import httptools
from typing_extensions import override

from proxy.upstream.response_classifier import (
    OK,
    BrokenAnswerError,
    ConnectTimeoutError,
    ReplicaResponse,
    SilentError,
    UnreachableError,
)
from proxy.upstream.stream_reader import StreamReader
from shared.protocol.headers import PROGRAM_HEADER
from shared.protocol.sse_format import EVENT_STREAM
from shared.runtime.logging import describe, describe_connection_error

MAX_HEAD_BYTES: Final = 64 * 1024
_EVENT_STREAM: Final = EVENT_STREAM.encode()
IDLE_SECONDS: Final = 30.0  # servers keep them longer, so close none during a request
MAX_IDLE: Final = 512  # connections per replica; more are rare
PART_BYTES: Final = 256 * 1024  # one write; above 64 KiB, so that the transport calls resume_writing() later


class Address(NamedTuple):
    """A replica's address, and every request's header lines."""

    host: str
    port: int
    tls: ssl.SSLContext | None
    headers: str


def address_of(url: str, headers: str) -> Address:
    """Return a URL's address; raise UnreachableError if it is invalid."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise UnreachableError(describe(error)) from error
    tls = tls_context() if parts.scheme == "https" else None
    # Answers are relayed unchanged.
    common = f"Host: {header_value(parts.netloc)}\r\nAccept-Encoding: identity\r\n{PROGRAM_HEADER}: 1\r\n"
    return Address(parts.hostname or "", port or (443 if tls else 80), tls, common + headers)


def header_value(text: str) -> str:
    """Return the value; raise ValueError if it could end the header."""
    if not (text.isascii() and text.isprintable()):
        raise ValueError(f"{text!r} cannot be a header's value: it must be printable ASCII")
    return text


@cache
def tls_context() -> ssl.SSLContext:
    """Return a context that trusts the system's authorities."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


class AnswerParser:
    """Parser of one answer after another; nothing may follow one unasked."""

    def __init__(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._is_reusable = False
        self.begin(0, None)
        self.is_whole = True

    def begin(self, limit: int, reader: StreamReader | None) -> None:
        """Expect an answer of at most ``limit`` bytes; ``reader`` gets its translation."""
        self._limit, self._reader = limit, reader
        self.received = self._status = 0
        self.is_whole = self._has_head = False
        self._parts: list[bytes] = []

    def feed(self, data: bytes) -> ReplicaResponse | None:
        """Parse a part; return the response, a stream's with its last event.

        None: it is incomplete. Raises BrokenAnswerError if it is too long or invalid.
        """
        self.received += len(data)
        error: Exception | None = None
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as cause:
            self._is_reusable, error = False, cause
        response = self._response()
        if response is None and error is not None:
            raise BrokenAnswerError(describe(error)) from error
        return response

    def end(self, error: Exception | None) -> ReplicaResponse | None:
        """Return what the connection's end completes; else raise BrokenAnswerError."""
        if error is not None or not self._has_head or self._is_framed:
            raise BrokenAnswerError("the connection was closed" if error is None else describe(error))
        self.is_whole = True
        return self._response()

    @property
    def is_reusable(self) -> bool:
        """Whether the connection can be used again: answer complete, kept alive."""
        return self.is_whole and self._is_reusable

    def _response(self) -> ReplicaResponse | None:
        if not self._has_head:
            if self.received > MAX_HEAD_BYTES:
                raise BrokenAnswerError(f"the answer's head has more than {MAX_HEAD_BYTES} bytes")
            return None
        if max(self.received, self._length) > self._limit:
            raise BrokenAnswerError(f"the answer has more than {self._limit} bytes")
        if self._reader is not None and self._is_stream:
            parts, self._parts = self._parts, []
            for part in parts:
                if (last := self._reader.feed(part)) is not None:
                    return last
            if self.is_whole:
                raise BrokenAnswerError("the stream ended without a result")
        if not self.is_whole:
            return None
        body = b"".join(self._parts)
        self._parts = []  # an idle connection would keep them
        if self._reader is not None and self._status == OK:
            self._reader.read_whole(body)
        return ReplicaResponse(self._status, body, self._retry_after)

    def on_message_begin(self) -> None:
        """Begin an answer."""
        if self.is_whole:
            raise BrokenAnswerError("more than one answer")
        self._is_framed = self._is_stream = False
        self._length, self._retry_after = 0, None

    def on_header(self, name: bytes, value: bytes) -> None:
        """Read the headers that matter; ignore trailers."""
        if self._has_head:
            return
        match name.lower():
            case b"content-length":
                self._is_framed, self._length = True, int(value)
            case b"transfer-encoding":
                self._refuse_encoding(value, b"chunked")
                self._is_framed = True
            case b"content-encoding":
                self._refuse_encoding(value, b"identity")
            case b"content-type":
                self._is_stream = value.partition(b";")[0].strip().lower() == _EVENT_STREAM
            case b"retry-after":
                self._retry_after = float(value) if value.isdigit() else None
            case _:
                pass

    @staticmethod
    def _refuse_encoding(value: bytes, accepted: bytes) -> None:
        if value.strip().lower() != accepted:
            raise BrokenAnswerError(
                f"the answer is encoded as {value[:40].decode(errors='replace')!r}, which was not requested"
            )

    def on_headers_complete(self) -> None:
        """Read the status."""
        self._status = self._parser.get_status_code()
        self._has_head = self._status >= OK
        self._is_reusable = self._parser.should_keep_alive() and self._parser.get_http_version() == "1.1"

    def on_body(self, part: bytes) -> None:
        """Store a part of the body."""
        self._parts.append(part)

    def on_message_complete(self) -> None:
        """Mark the answer as complete, unless it is an interim one."""
        self.is_whole = self._has_head


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

        Without a request since then, the endpoint keeps none any more.
        """
        old = [connection for connection in self.idle if connection.idle_since < unused_since]
        self.idle = self.idle[len(old) :]
        self.max_idle = MAX_IDLE if self.idle or self.used_at >= unused_since else 0
        for connection in old:
            connection.abort()


class UpstreamCall:
    """One request and its response: await it once; cancelling closes the connection."""

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
        """Send it, a repeatable one again if an idle connection is dead."""
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
        """End the call with this error, unless it has ended."""
        if not self._future.done():
            self._future.set_exception(error)
            self._close()

    def finish(self, response: ReplicaResponse) -> None:
        """End the call with the response, without closing the connection."""
        self.connection = None
        if not self._future.done():
            self._future.set_result(response)

    def _close(self) -> None:
        connection, self.connection = self.connection, None
        if connection is not None:
            connection.abort()


class UpstreamConnection(asyncio.Protocol):
    """One connection; reused only after a complete request and answer."""

    def __init__(self, call: UpstreamCall) -> None:
        self.idle_since = 0.0
        self._endpoint = call.endpoint
        self._call: UpstreamCall | None = call
        self._answer = AnswerParser()
        self._transport: asyncio.Transport | None = None
        self._unsent = memoryview(b"")
        self._opening = asyncio.create_task(self._open(call))

    @property
    def is_connected(self) -> bool:
        """Whether neither side has closed it."""
        return self._transport is not None and not self._transport.is_closing()

    async def _open(self, call: UpstreamCall) -> None:
        address, loop = self._endpoint.address, asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._endpoint.connect_timeout):
                await loop.create_connection(lambda: self, address.host, address.port, ssl=address.tls)
        except TimeoutError:
            call.abandon(ConnectTimeoutError("no connection in time"))
        except Exception as error:  # noqa: BLE001 - whatever failed, nothing was sent
            call.abandon(UnreachableError(f"cannot connect: {describe_connection_error(error)}"))
        else:
            if self._call is not None:  # else it was abandoned
                self.send(call)

    def send(self, call: UpstreamCall) -> None:
        """Send the call's request."""
        self._call = call
        self._answer.begin(call.limit, call.reader)
        self._unsent = memoryview(call.message)
        if not call.is_repeatable:
            call.message = b""  # it lives until it is sent, not until the answer
        self.resume_writing()

    def abort(self) -> None:
        """Close the connection now, or cancel its opening."""
        self._call = None
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
        if self._call is None:  # bytes without a request
            self.abort()
        else:
            self._receive(self._call, data)

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        call, self._unsent = self._call, memoryview(b"")
        if self in self._endpoint.idle:
            self._endpoint.idle.remove(self)
        if call is not None and call.is_repeatable and self.idle_since and not self._answer.received:
            self._call, call.connection = None, UpstreamConnection(call)
        elif call is not None:
            self._receive(call, None, exc)

    def _receive(self, call: UpstreamCall, data: bytes | None, exc: Exception | None = None) -> None:
        """Parse a part of the answer; None is the connection's end."""
        try:
            response = self._answer.end(exc) if data is None else self._answer.feed(data)
        except Exception as error:  # noqa: BLE001 - raised where the response is awaited
            call.abandon(error)
            return
        if response is None:
            return
        call.finish(response)
        self._call = None
        is_sent = not self._unsent and self._transport is not None and not self._transport.get_write_buffer_size()
        if is_sent and self._answer.is_reusable and len(self._endpoint.idle) < self._endpoint.max_idle:
            self.idle_since = asyncio.get_running_loop().time()
            self._endpoint.idle.append(self)
        else:
            self.abort()
