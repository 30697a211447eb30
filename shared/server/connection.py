"""Connections with limits, and a close that loses no answer.

Deliberately slow clients are left to the web server in front (docs/decisions/0020-connections.md).
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Final, cast

from typing_extensions import override
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from shared.http.body import WHOLE_BODY_EXTENSION
from shared.http.disconnect import DISCONNECT_EXTENSION, DisconnectSignal
from shared.http.problems import standalone_problem
from shared.protocol.errors import BadRequestError, HeadTooLargeError, OverloadedError, PairwayError, SlowRequestError
from shared.server.limits import (
    MAX_HEAD_BYTES,
    MAX_HEADERS,
    MAX_LINGER_BYTES,
    MAX_PIPELINED_REQUESTS,
    ConnectionLimiter,
)
from shared.server.uvicorn_protocol import UpgradeIgnoringProtocol

log = logging.getLogger(__name__)

CONNECTION_RETRY_AFTER_SECONDS: Final = 1.0


class Connection(UpgradeIgnoringProtocol):
    """One client's connection.

    Request cycles use it as their transport, so that they call its ``close``.
    """

    def __init__(self, *, limiter: ConnectionLimiter, **uvicorn_arguments: Any) -> None:
        super().__init__(**uvicorn_arguments)
        self._limiter = limiter
        self._disconnect = DisconnectSignal()
        # Bytes given to the parser since the last complete head or piece of a body.
        self._parsing_bytes = 0
        self._is_head_open = self._is_body_open = self._is_lingering = self._keeps_alive = False
        self._lingered_bytes = 0
        self._refusal: PairwayError | None = None
        # For the rest of a head, of a body, or of discarded bytes.
        self._timer: asyncio.TimerHandle | None = None
        # For a peer that does not read.
        self._unread_timer: asyncio.TimerHandle | None = None

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self.write, self.is_closing = transport.write, transport.is_closing
        is_admitted = self._limiter.admit()
        self._wait_for_request()
        if not is_admitted:
            self._refuse_connection()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._limiter.release(self.transport)
        self._stop_timer()
        self._stop_unread_timer()
        self._unset_keepalive_if_required()
        super().connection_lost(exc)
        self._disconnect.set()
        # Break a reference cycle: the garbage collector takes 200 ms for ten thousand of them.
        if self._is_idle():
            self.cycle = cast("Any", None)  # its first value, which uvicorn's types do not include
        else:
            self.cycle.transport = self.transport

    @override
    def data_received(self, data: bytes) -> None:
        if len(data) <= MAX_HEAD_BYTES or self._is_body_open:
            self._receive(data)
            return
        for start in range(0, len(data), MAX_HEAD_BYTES):  # a head is refused before all of it is parsed
            self._receive(data[start : start + MAX_HEAD_BYTES])

    def _receive(self, data: bytes) -> None:
        if self._is_lingering:
            self._lingered_bytes += len(data)
            if self._lingered_bytes > MAX_LINGER_BYTES:
                self.transport.abort()
            return
        if self._refusal is not None or self.transport.is_closing():
            return
        if not self.flow.write_paused:
            self._limiter.idle.pop(self.transport, None)
        self._parsing_bytes += len(data)
        super().data_received(data)
        if self._refusal is not None:
            return
        if self._parsing_bytes > MAX_HEAD_BYTES:  # trailers and chunk headers count too
            self._refuse(HeadTooLargeError(limit=MAX_HEAD_BYTES))
        elif len(self.headers or ()) > MAX_HEADERS:  # of a head, or of trailers, that goes on
            self._refuse(HeadTooLargeError(limit=MAX_HEADERS, unit="headers"))
        elif self._timer is None and (self._is_head_open or self._is_body_open):
            timeouts = self._limiter.timeouts
            self._timer = self.loop.call_later(
                timeouts.body if self._is_body_open else timeouts.head, self._read_timed_out
            )
        elif self._timer is None and self._is_idle():  # an empty line begins no request (RFC 9112 §2.2)
            self._wait_for_request()

    def _wait_for_request(self) -> None:
        self._limiter.idle[self.transport] = None
        self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)

    def _is_idle(self) -> bool:
        return not self.cycle or self.cycle.response_complete

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _read_timed_out(self) -> None:
        timeouts = self._limiter.timeouts
        if self.flow.read_paused:  # the server itself does not read
            self._timer = self.loop.call_later(timeouts.body, self._read_timed_out)
        elif self._is_body_open:
            self._refuse(SlowRequestError(f"The request's body took more than {timeouts.body:g} s."))
        else:
            self._refuse(SlowRequestError(f"The request's head took more than {timeouts.head:g} s."))

    @override
    def on_message_begin(self) -> None:
        if len(self.pipeline) >= MAX_PIPELINED_REQUESTS:
            raise self._recorded(
                BadRequestError(f"More than {MAX_PIPELINED_REQUESTS} requests wait on this connection.")
            )
        self._is_head_open = True
        super().on_message_begin()
        self.scope["extensions"] = cast("Any", {DISCONNECT_EXTENSION: self._disconnect})

    @override
    def on_headers_complete(self) -> None:
        """Start the request; an answer before the body's end closes the connection."""
        if self._parsing_bytes > MAX_HEAD_BYTES:  # they may include a body
            head_bytes = len(self.url) + sum(len(name) + len(value) + len(b": \r\n") for name, value in self.headers)
            if head_bytes > MAX_HEAD_BYTES:
                raise self._recorded(HeadTooLargeError(limit=MAX_HEAD_BYTES))
        if len(self.headers) > MAX_HEADERS:
            raise self._recorded(HeadTooLargeError(limit=MAX_HEADERS, unit="headers"))
        super().on_headers_complete()
        self._stop_timer()
        self._parsing_bytes, self._is_head_open, self._is_body_open = 0, False, True
        cycle = self.cycle
        cycle.transport = cast("Any", self)
        self._keeps_alive, cycle.keep_alive = cycle.keep_alive, False
        self.headers = []  # for trailers, which nobody reads

    @override
    def on_body(self, body: bytes) -> None:
        self._parsing_bytes = 0
        super().on_body(body)

    @override
    def on_message_complete(self) -> None:
        """End the request, unless the parser stopped before its body."""
        if self.has_pending_body():
            return
        self._stop_timer()
        self._parsing_bytes, self._is_body_open = 0, False
        cast("Any", self.scope)["extensions"][WHOLE_BODY_EXTENSION] = None
        if not self.cycle.response_started:
            self.cycle.keep_alive = self._keeps_alive
        super().on_message_complete()
        if not self.pipeline:  # uvicorn would wait for the app, and miss a disconnect
            self.flow.resume_reading()

    @override
    def on_response_complete(self) -> None:
        if self._is_lingering:
            return
        super().on_response_complete()
        if self._is_idle():
            self.cycle.body = bytearray()  # which the app may not have read
        if self._timer is None and (self._is_idle() or self.flow.write_paused):  # the next answer waits for its reader
            self._limiter.idle[self.transport] = None

    @override
    def pause_writing(self) -> None:
        """Wait for the peer to read as long as for requests."""
        super().pause_writing()
        self._stop_unread_timer()
        self._unread_timer = self.loop.call_later(self.timeout_keep_alive, self.transport.abort)

    @override
    def resume_writing(self) -> None:
        self._stop_unread_timer()
        if not self._is_idle():
            self._limiter.idle.pop(self.transport, None)
        super().resume_writing()

    def _stop_unread_timer(self) -> None:
        if self._unread_timer is not None:
            self._unread_timer.cancel()
            self._unread_timer = None

    @override
    def timeout_keep_alive_handler(self) -> None:
        """Abort an idle connection, even with an answer still unread."""
        self.transport.abort()

    @override
    def shutdown(self) -> None:
        self._keeps_alive = False
        super().shutdown()

    def close(self) -> None:
        """Discard the rest of the body, then close.

        A close with unread bytes is a reset, which can overtake the answer.
        """
        if self._is_lingering or self.transport.is_closing():
            return
        self._limiter.idle[self.transport] = None
        self._unset_keepalive_if_required()
        self._stop_timer()
        if not self._is_body_open and self._refusal is None:
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )
            self.transport.close()
            return
        self._is_lingering = True
        self.flow.resume_reading()
        self.transport.write_eof()
        timeouts = self._limiter.timeouts
        self._timer = self.loop.call_later(
            timeouts.linger_idle, self._check_lingering, 0, self.loop.time() + timeouts.linger
        )

    def _refuse_connection(self) -> None:
        """Refuse without a reset, which would destroy the answer."""
        self._unset_keepalive_if_required()
        self._refusal = OverloadedError("There are too many connections.", retry_after=CONNECTION_RETRY_AFTER_SECONDS)
        self._write_problem(self._refusal)
        if self._limiter.hold_refused(self.transport):
            self._is_lingering = True
            self.transport.write_eof()
            self._timer = self.loop.call_later(self._limiter.timeouts.linger_refused, self.transport.abort)
        else:
            self.transport.close()

    def _check_lingering(self, previous_bytes: int, give_up_at: float) -> None:
        if self._lingered_bytes == previous_bytes or self.loop.time() >= give_up_at:
            self.transport.abort()
            return
        self._timer = self.loop.call_later(
            self._limiter.timeouts.linger_idle, self._check_lingering, self._lingered_bytes, give_up_at
        )

    def _recorded(self, error: PairwayError) -> PairwayError:
        """Store an error for ``send_400_response``: the parser replaces raised errors."""
        self._refusal = error
        return error

    @override
    def send_400_response(self, msg: str) -> None:
        self._refuse(self._refusal or BadRequestError("This is not an HTTP/1.1 request."))

    def _refuse(self, error: PairwayError) -> None:
        """Send an error and close, after answers still pending on the connection."""
        if self._is_lingering or self.transport.is_closing():
            return
        self._refusal = error
        if self.headers:  # of the refused head; a request that began has its own list
            self.headers.clear()
        self._stop_timer()
        log.info("request refused", extra={"status": error.http_status, "code": error.code})
        current = None if self._is_idle() else self.cycle
        if current is not None and not self._is_body_open:
            current.keep_alive = False  # the last request, so all others are answered
        elif current is not None and self.pipeline:
            self.pipeline[0] = (current, cast("Any", standalone_problem(error)))  # a response is an ASGI app
        elif current is not None and current.response_started:
            self.transport.abort()
        else:
            if current is not None:
                current.disconnected = True
                current.message_event.set()
            self._write_problem(error)
            self.close()

    def _write_problem(self, error: PairwayError) -> None:
        response = standalone_problem(error)
        headers = [*self.server_state.default_headers, *response.raw_headers, (b"connection", b"close")]
        lines = (name + b": " + value + b"\r\n" for name, value in headers)
        self.transport.write(b"".join((STATUS_LINE[response.status_code], *lines, b"\r\n", bytes(response.body))))
