"""Streamed answers: events, or an ordinary error before the first event."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Coroutine
from contextlib import aclosing
from typing import Any, Final

from fastapi import Request, Response
from starlette.types import Receive, Scope, Send
from typing_extensions import override

from shared.http.disconnect import while_connected
from shared.http.problems import JsonBytesResponse, problem_of
from shared.http.request_context import add_log_fields, add_response_headers, request_header
from shared.protocol import sse_format
from shared.protocol.errors import ClientGoneError, InternalError, PairwayError
from shared.protocol.sse_format import DeltaSink
from shared.runtime.gc_tuning import drop_tracebacks

log = logging.getLogger(__name__)

# Web servers and load balancers close idle connections later (nginx: after 60 s), even if one comment is lost.
KEEP_ALIVE_INTERVAL_SECONDS: Final = 15.0
# The stream and its work end after a reader took nothing from a full connection for so long.
READER_STALL_SECONDS: Final = 30.0
# X-Accel-Buffering makes nginx pass each event on at once.
EVENT_STREAM_HEADERS: Final = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


class EventSink(DeltaSink):
    """Sink that keeps unsent deltas in ``pending``, by text, and sets ``changed``."""

    __slots__ = ("changed", "pending")

    def __init__(self) -> None:
        super().__init__(self._add)
        self.pending: dict[int, list[str]] = {}
        self.changed = asyncio.Event()

    def _add(self, index: int, text: str) -> None:
        self.pending.setdefault(index, []).append(text)
        self.changed.set()


def open_sink(request: Request) -> EventSink | None:
    """Return a sink if the client wants a stream, else None."""
    accept = request_header(request, "accept")
    return EventSink() if accept and sse_format.accepts_events(accept) else None


async def respond(request: Request, work: Coroutine[Any, Any, bytes], sink: EventSink | None) -> Response:
    """Answer with the JSON that the work returns, or stream its events.

    ``work`` is the whole request, including reading its body, so that its reservations last until it ends. It must
    end when the client disconnects (``disconnect.while_connected``) and when its Deadline has passed.
    """
    if sink is not None:
        return EventStream(request, work, sink)
    return JsonBytesResponse(await work)


class EventStream(Response):
    """Response that sends the work's deltas, then its result or error.

    The status waits for the first event, so an earlier error is raised. Unread deltas are joined per text, so they are
    never larger than the answer.
    """

    def __init__(
        self,
        request: Request,
        work: Coroutine[Any, Any, bytes],
        sink: EventSink,
        *,
        keep_alive_interval: float = KEEP_ALIVE_INTERVAL_SECONDS,
        stall_seconds: float = READER_STALL_SECONDS,
    ) -> None:
        super().__init__(headers=EVENT_STREAM_HEADERS, media_type=sse_format.EVENT_STREAM)
        del self.headers["content-length"]
        self._request = request
        self._work = work
        self._sink = sink
        self._keep_alive_interval = keep_alive_interval
        self._stall_seconds = stall_seconds

    @override
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        sink = self._sink
        task = asyncio.create_task(self._work)
        task.add_done_callback(lambda _: sink.changed.set())
        try:
            await sink.changed.wait()
            if task.done() and not sink.pending:
                task.result()  # raises the work's error, while the status can still show it
            add_response_headers(self._request, sink.headers)
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            try:
                await self._send_all(task, send)
            except TimeoutError:
                log.warning("reader stalled", extra={"seconds": self._stall_seconds})
            except ClientGoneError as error:
                drop_tracebacks(error)  # of the task, whose error keeps its frames, and the body
                add_log_fields(self._request, code=ClientGoneError.code)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _send_all(self, task: asyncio.Task[bytes], send: Send) -> None:
        sink = self._sink
        while not task.done() or sink.pending:
            try:
                async with asyncio.timeout(self._keep_alive_interval):
                    await sink.changed.wait()
            except TimeoutError:
                await self._send(send, sse_format.KEEP_ALIVE)
                continue
            sink.changed.clear()
            pending, sink.pending = sink.pending, {}
            if pending:
                parts = (sse_format.encode_delta(index, "".join(texts)) for index, texts in pending.items())
                await self._send(send, b"".join(parts))
        await self._send(send, self._last_event(task), more=False)

    def _last_event(self, task: asyncio.Task[bytes]) -> bytes:
        try:
            return sse_format.encode(sse_format.RESULT, task.result())
        except ClientGoneError:
            raise
        except PairwayError as error:
            failure = error
        except Exception as error:  # the client must get an event for any failure
            log.exception("request failed in mid-stream", exc_info=error)
            failure = InternalError("Something went wrong on our side.")
        drop_tracebacks(failure)
        add_log_fields(self._request, code=failure.code)
        problem = problem_of(failure, self._request.state.request_id)
        return sse_format.encode(sse_format.ERROR, problem.model_dump_json().encode())

    async def _send(self, send: Send, body: bytes, *, more: bool = True) -> None:
        async with asyncio.timeout(self._stall_seconds):
            await send({"type": "http.response.body", "body": body, "more_body": more})


class EventSeries(Response):
    """Response that sends encoded events as they come.

    It ends with them, or when the client leaves. The status waits for the first event, so an earlier error is raised.
    """

    def __init__(
        self, request: Request, events: AsyncGenerator[bytes], *, stall_seconds: float = READER_STALL_SECONDS
    ) -> None:
        super().__init__(headers=EVENT_STREAM_HEADERS, media_type=sse_format.EVENT_STREAM)
        del self.headers["content-length"]
        self._request = request
        self._events = events
        self._stall_seconds = stall_seconds

    @override
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with aclosing(self._events):
            try:
                await while_connected(self._request, self._send_all(send))
            except ClientGoneError:
                add_log_fields(self._request, code=ClientGoneError.code)
            except TimeoutError:
                log.info("reader stalled", extra={"seconds": self._stall_seconds})

    async def _send_all(self, send: Send) -> None:
        first = await anext(self._events, b"")
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await self._send(send, first)
        async for event in self._events:
            await self._send(send, event)
        await self._send(send, b"", more=False)

    async def _send(self, send: Send, body: bytes, *, more: bool = True) -> None:
        async with asyncio.timeout(self._stall_seconds):
            await send({"type": "http.response.body", "body": body, "more_body": more})
