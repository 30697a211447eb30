"""One client's connection: uvicorn's protocol with bounds on what a peer can make us hold, and for how long.

uvicorn has none of them: a head may come for ever, of any size, and a peer that reads nothing is waited for.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Final, cast

from starlette.responses import Response
from typing_extensions import override
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from shared.http.disconnect import DISCONNECT_EXTENSION, DisconnectSignal
from shared.http.problems import standalone_problem
from shared.protocol.errors import BadRequestError, HeadTooLargeError, OverloadedError, PairwayError, SlowRequestError
from shared.server.host_header import host_error
from shared.server.limits import MAX_HEAD_BYTES, MAX_HEADERS, MAX_PIPELINED_REQUESTS, ConnectionLimiter
from shared.server.uvicorn_protocol import ObservedFlowControl, UpgradeIgnoringProtocol

log = logging.getLogger(__name__)

# When a place for one more connection may be free again; seconds.
CONNECTION_RETRY_AFTER_SECONDS: Final = 1.0


class Connection(UpgradeIgnoringProtocol):
    """Serves one connection and refuses, as a problem of ours, what is too large, too slow, or no HTTP."""

    def __init__(self, *, limiter: ConnectionLimiter, **uvicorn_arguments: Any) -> None:
        super().__init__(**uvicorn_arguments)
        self._limiter = limiter
        self._timeouts = limiter.timeouts
        # Bytes of a head that is not whole yet, as they came; and of the lines of one, as they were read.
        self._head_open = True
        self._head_started = False
        self._head_bytes_received = self._head_bytes_parsed = 0
        # After a chunk's header: the trailers come now if it is the last chunk's, which the parser does not say.
        self._trailers_open = False
        self._body_bytes = self._unsent_bytes = 0
        self._body_started_at = 0.0
        self._paused_at = 0.0
        self._refusal: PairwayError | None = None
        # What comes is not read any more: the connection closes with the answer to the last good request.
        self._ignores_input = False
        self._disconnect = DisconnectSignal()
        self._read_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:
        """Accept the connection, or refuse it where there are too many that are not idle."""
        super().connection_made(transport)
        self.flow = ObservedFlowControl(transport, self._pause_read_timer, self._resume_read_timer)
        is_admitted = self._limiter.admit()
        self._await_request()
        if not is_admitted:
            self._refuse(
                OverloadedError("There are too many connections.", retry_after=CONNECTION_RETRY_AFTER_SECONDS),
                log_and_linger=False,
            )

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        """Release everything that the connection holds."""
        self._limiter.release(self.transport)
        self._read_timer = _cancelled(self._read_timer)
        self._write_timer = _cancelled(self._write_timer)
        self._unset_keepalive_if_required()
        super().connection_lost(exc)
        self._disconnect.set()
        # What refers to itself only the garbage collector can free, and ten thousand of them at once cost it 200 ms.
        cast("ObservedFlowControl", self.flow).detach()
        if self._is_idle():
            self.cycle = cast("Any", None)  # as it was at first; uvicorn's types do not say

    @override
    def data_received(self, data: bytes) -> None:
        """Read on; then see what is to be waited for."""
        if self._ignores_input:
            return
        self._limiter.idle.pop(self.transport, None)
        if self._head_open or self._trailers_open:
            self._head_bytes_received += len(data)
        super().data_received(data)
        if self._ignores_input or self.transport.is_closing():
            return
        if (self._head_open or self._trailers_open) and self._head_bytes_received > MAX_HEAD_BYTES:
            self._refuse(HeadTooLargeError(limit=MAX_HEAD_BYTES, unit="bytes"))
        elif self._head_open and not self._head_started and self._is_idle():
            self._await_request()
        else:
            self._start_read_timer()

    def _is_idle(self) -> bool:
        """Say whether no answer is due (before the first request there is no cycle, which uvicorn's types do not say)."""
        return not self.cycle or self.cycle.response_complete

    def _await_request(self) -> None:
        self._limiter.idle[self.transport] = None
        if self.timeout_keep_alive_task is None:
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def _start_read_timer(self) -> None:
        """See to it that the rest of a head or of a body comes in time; while we do not read, nothing can come."""
        if self._ignores_input or self.flow.read_paused:
            return
        if not self._head_open:
            self._set_read_timer(self._body_seconds_left())
        elif self._head_started:
            self._set_read_timer(self._timeouts.head)

    def _body_seconds_left(self) -> float:
        """Return for how many seconds the rest of the body is waited for."""
        return (
            self._body_started_at + self._timeouts.body + self._body_bytes / self._timeouts.min_rate - self.loop.time()
        )

    def _pause_read_timer(self) -> None:
        self._paused_at = self.loop.time()
        self._read_timer = _cancelled(self._read_timer)

    def _resume_read_timer(self) -> None:
        self._body_started_at += self.loop.time() - self._paused_at
        self._start_read_timer()

    def _set_read_timer(self, seconds: float) -> None:
        if self._read_timer is None:
            self._read_timer = self.loop.call_later(seconds, self._read_timed_out)

    def _read_timed_out(self) -> None:
        """Give up a head that is not whole in time, or a body that falls behind the pace."""
        self._read_timer = None
        if self._head_open:
            self._refuse(SlowRequestError(f"The request's head took more than {self._timeouts.head:g} s."))
            return
        if not self._is_idle() and (left := self._body_seconds_left()) > 0:
            self._set_read_timer(left)
            return
        self._refuse(SlowRequestError(f"The body came in less than {self._timeouts.min_rate:g} bytes per second."))

    # ---- what the parser finds ----

    @override
    def on_message_begin(self) -> None:
        """Begin a request, unless too many wait already."""
        if len(self.pipeline) >= MAX_PIPELINED_REQUESTS:
            raise self._recorded(
                BadRequestError(f"More than {MAX_PIPELINED_REQUESTS} requests wait on this connection.")
            )
        self._head_started = True
        self._head_bytes_parsed = 0
        super().on_message_begin()
        self.scope["extensions"] = cast("Any", {DISCONNECT_EXTENSION: self._disconnect})

    @override
    def on_url(self, url: bytes) -> None:
        """Take a piece of the target."""
        self._count_head_bytes(len(url))
        super().on_url(url)

    @override
    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; trailers, which come after the body in the same way, are counted and dropped."""
        self._count_head_bytes(len(name) + len(value) + len(b": \r\n"))
        if not self._head_open:
            return
        if len(self.headers) >= MAX_HEADERS:
            raise self._recorded(HeadTooLargeError(limit=MAX_HEADERS, unit="headers"))
        super().on_header(name, value)

    def _count_head_bytes(self, size: int) -> None:
        self._head_bytes_parsed += size
        if self._head_bytes_parsed > MAX_HEAD_BYTES:
            raise self._recorded(HeadTooLargeError(limit=MAX_HEAD_BYTES, unit="bytes"))

    def _recorded(self, error: PairwayError) -> PairwayError:
        """Keep the error: what is raised here reaches ``send_400_response`` as one of the parser's own."""
        self._refusal = error
        return error

    @override
    def on_headers_complete(self) -> None:
        """Start the request, if it names one host, and the time for its body."""
        if error := host_error(self.headers, self.parser.get_http_version()):  # pyright: ignore[reportOptionalMemberAccess] - None only once the connection is lost
            raise self._recorded(BadRequestError(error))
        super().on_headers_complete()
        self._head_open, self._head_bytes_received = False, 0
        self._read_timer = _cancelled(self._read_timer)
        self._body_bytes = 0
        self._body_started_at = self.loop.time()

    @override
    def on_chunk_header(self) -> None:
        """Take the next chunk, or the last, which is empty and has the trailers after it."""
        self._trailers_open = True

    @override
    def on_body(self, body: bytes) -> None:
        """Take a piece of the body."""
        self._trailers_open, self._head_bytes_received = False, 0
        self._body_bytes += len(body)
        super().on_body(body)

    @override
    def on_message_complete(self) -> None:
        """End the request; what comes is the next one's head, or its body if it asked for another protocol."""
        if self.has_pending_body():
            return
        self._read_timer = _cancelled(self._read_timer)
        self._head_open, self._head_started, self._trailers_open, self._head_bytes_received = True, False, False, 0
        super().on_message_complete()
        if not self.pipeline:  # uvicorn goes on when the app asks for more: we have to see that the peer hangs up
            self.flow.resume_reading()

    @override
    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP, or what was refused while it was parsed."""
        self._refuse(self._refusal or BadRequestError("This is no HTTP/1.1 request."))

    # ---- what goes out ----

    @override
    def pause_writing(self) -> None:
        """Watch a reader that is behind."""
        super().pause_writing()
        self._watch_reader()

    @override
    def resume_writing(self) -> None:
        """Watch no more."""
        super().resume_writing()
        self._write_timer = _cancelled(self._write_timer)
        if self.transport.is_closing():  # the rest has to be taken too
            self._watch_reader()

    @override
    def on_response_complete(self) -> None:
        """Go on with the next request, or wait for one; a body that still comes is not waited for long."""
        super().on_response_complete()
        if self.transport.is_closing():
            self._watch_reader()
        elif self._is_idle() and not self._head_open:
            self._read_timer = _cancelled(self._read_timer)
            self._set_read_timer(self._timeouts.linger)
        elif self._is_idle() and not self._head_started:
            self._limiter.idle[self.transport] = None

    @override
    def timeout_keep_alive_handler(self) -> None:
        """Close an idle connection, also one whose peer has not taken the last answer."""
        self._limiter.idle.pop(self.transport, None)
        self._close()

    def _close(self) -> None:
        self.transport.close()
        self._watch_reader()

    def _watch_reader(self) -> None:
        """See in a while whether the peer takes what is there for it."""
        unsent = self.transport.get_write_buffer_size()
        if self._write_timer is None and unsent:
            self._unsent_bytes = unsent
            self._write_timer = self.loop.call_later(self._timeouts.stall, self._check_reader)

    def _check_reader(self) -> None:
        self._write_timer = None
        previous, self._unsent_bytes = self._unsent_bytes, self.transport.get_write_buffer_size()
        if self._unsent_bytes and self._unsent_bytes > previous - self._timeouts.stall * self._timeouts.min_rate:
            log.warning("reader stalled", extra={"seconds": self._timeouts.stall})
            self.transport.abort()
        elif self._unsent_bytes:
            self._write_timer = self.loop.call_later(self._timeouts.stall, self._check_reader)

    def _refuse(self, error: PairwayError, *, log_and_linger: bool = True) -> None:
        """Answer what can not be served, and close; answers that are due before it are still given."""
        if self._ignores_input or self.transport.is_closing():
            return
        self._ignores_input = True
        self._read_timer = _cancelled(self._read_timer)
        self._unset_keepalive_if_required()
        self._limiter.idle.pop(self.transport, None)
        current = None if self._is_idle() else self.cycle
        if current is None and not self._head_open:
            self._close()  # the rest of a body whose answer is out
            return
        if log_and_linger:
            log.info("request refused", extra={"status": error.http_status, "code": error.code})
        if current is not None and not current.more_body:
            current.keep_alive = False  # the latest, so all before it are answered
            return
        # It is the last of them, its body does not come, and others are answered before it.
        if current is not None and self.pipeline:
            current.keep_alive = False
            self.pipeline[0] = (current, cast("Any", standalone_problem(error)))  # a response is an app
            return
        if current is not None:
            current.disconnected = True
            current.message_event.set()
            if current.response_started:
                self.transport.abort()
                return
        self.transport.write(self._encoded(standalone_problem(error)))
        # Closing at once, with bytes unread, would be a reset, which can overtake the answer.
        self.transport.write_eof()
        self._read_timer = self.loop.call_later(self._timeouts.linger if log_and_linger else 0, self._close)

    def _encoded(self, response: Response) -> bytes:
        headers = [*self.server_state.default_headers, *response.raw_headers, (b"connection", b"close")]
        lines = (name + b": " + value + b"\r\n" for name, value in headers)
        return b"".join((STATUS_LINE[response.status_code], *lines, b"\r\n", bytes(response.body)))


def _cancelled(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
