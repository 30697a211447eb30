"""Answers that stream: events as soon as there is something final to say, an ordinary answer until then."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, Final

from fastapi import Request, Response
from starlette.types import Receive, Scope, Send
from typing_extensions import override

from shared.http.problems import JsonBytesResponse, problem_of
from shared.http.request_context import add_log_fields, add_response_headers, request_header
from shared.protocol import sse
from shared.protocol.errors import ClientGoneError, InternalError, PairwayError
from shared.protocol.sse import DeltaSink

log = logging.getLogger(__name__)

# Half of what web servers and load balancers allow an idle connection (nginx: 60 s), so that one may be lost.
KEEP_ALIVE_INTERVAL_SECONDS: Final = 15.0
# How long a reader may take nothing at all off a full connection before it is given up, and its work with it.
READER_STALL_SECONDS: Final = 30.0
# X-Accel-Buffering tells nginx to pass each event on at once.
EVENT_STREAM_HEADERS: Final = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


class EventSink(DeltaSink):
    """Sink of an answer's deltas: what was not sent yet waits in ``pending``, by text; ``changed`` says that some does."""

    __slots__ = ("changed", "pending")

    def __init__(self) -> None:
        super().__init__(self._add)
        self.pending: dict[int, list[str]] = {}
        self.changed = asyncio.Event()

    def _add(self, index: int, text: str) -> None:
        self.pending.setdefault(index, []).append(text)
        self.changed.set()


def open_sink(request: Request) -> EventSink | None:
    """Return where the answer's deltas go; None: the client wants it as a whole."""
    accept = request_header(request, "accept")
    return EventSink() if accept and sse.accepts_events(accept) else None


async def respond(request: Request, work: Coroutine[Any, Any, bytes], sink: EventSink | None) -> Response:
    """Answer with the JSON that the work returns; with a sink, with the events that it puts there.

    ``work`` is the whole of the request, reading its body included, so that what it holds is held until it ends; it
    must end when the client hangs up (``disconnect.while_connected``) and when its Deadline has passed.
    """
    if sink is not None:
        return EventStream(request, work, sink)
    return JsonBytesResponse(await work)


class EventStream(Response):
    """Runs the work and sends its deltas, then its result or the error that ended it; the work ends with the call.

    The status waits for the first event; an error before it is raised, as nothing was sent. Deltas that a slow reader has not
    taken wait here, joined per text: never more than the answer itself.
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
        super().__init__(headers=EVENT_STREAM_HEADERS, media_type=sse.EVENT_STREAM)
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
                task.result()  # raises what went wrong, while the status can still say so
            add_response_headers(self._request, sink.headers)
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            try:
                await self._send_all(task, send)
            except TimeoutError:
                log.warning("reader stalled", extra={"seconds": self._stall_seconds})
            except ClientGoneError:
                add_log_fields(self._request, code=ClientGoneError.code)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _send_all(self, task: asyncio.Task[bytes], send: Send) -> None:
        """Send what comes, then how the work ended; TimeoutError: the reader takes nothing; ClientGoneError: it is gone."""
        sink = self._sink
        while not task.done() or sink.pending:
            try:
                async with asyncio.timeout(self._keep_alive_interval):
                    await sink.changed.wait()
            except TimeoutError:
                await self._send(send, sse.KEEP_ALIVE)
                continue
            sink.changed.clear()
            pending, sink.pending = sink.pending, {}
            if pending:
                parts = (sse.encode_delta(index, "".join(texts)) for index, texts in pending.items())
                await self._send(send, b"".join(parts))
        await self._send(send, self._last_event(task), more=False)

    def _last_event(self, task: asyncio.Task[bytes]) -> bytes:
        try:
            return sse.encode(sse.RESULT, task.result())
        except ClientGoneError:
            raise
        except PairwayError as error:
            failure = error
        except Exception as error:  # the client must learn that it broke, whatever it was
            log.exception("request failed in mid-stream", exc_info=error)
            failure = InternalError("Something went wrong on our side.")
        add_log_fields(self._request, code=failure.code)
        problem = problem_of(failure, self._request.state.request_id)
        return sse.encode(sse.ERROR, problem.model_dump_json().encode())

    async def _send(self, send: Send, body: bytes, *, more: bool = True) -> None:
        async with asyncio.timeout(self._stall_seconds):
            await send({"type": "http.response.body", "body": body, "more_body": more})
