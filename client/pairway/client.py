"""Client: the API for programs without an event loop."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Generator, Iterator, Mapping
from contextlib import closing
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, Final, Generic, ParamSpec, Self, TypeVar

import httpx

from . import calls, translate_call
from .answers import Delta
from .async_client import AsyncClient
from .errors import PairwayError, StreamCutError
from .event_stream import EventReader
from .exchange import Session, decoded
from .steps import Call, Lost, Reply, Send, Step, Together, Wait
from .transport import Connection, is_stream, lost, opened, reader_of, stream_cut

P = ParamSpec("P")
T = TypeVar("T")
# Closing connections waits for nothing, so this is for a machine that stands still.
END_SECONDS: Final = 10.0


def _blocking(call: Callable[Concatenate[Session, P], Call[T]]) -> Callable[Concatenate[Client, P], T]:
    """Return the method that runs a call."""

    @wraps(call)
    def method(client: Client, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return client.run(call(client.session, *args, **kwargs))

    return method


def _streamed(
    call: Callable[Concatenate[Session, P], calls.StreamPlan[T]],
) -> Callable[Concatenate[Client, P], TranslationStream[T]]:
    """Return the method that opens a stream."""

    @wraps(call)
    def method(client: Client, /, *args: P.args, **kwargs: P.kwargs) -> TranslationStream[T]:
        return TranslationStream(client, call(client.session, *args, **kwargs))

    return method


class Client(Connection):
    """A client whose methods block.

    Close it, or use it as a context manager. It may be shared by threads. Whatever interrupts a call closes its
    connections, so that the server stops its work.
    """

    # Of httpx; those of servers that no HTTP proxy of the environment is for.
    mounts: Mapping[str, None] | None = None
    _http: httpx.Client | None = None
    _several: tuple[LoopThread, AsyncClient] | None = None

    translate = _blocking(translate_call.translate)
    stream = _streamed(calls.stream)
    detect = _blocking(calls.detect)
    languages = _blocking(calls.languages)
    usage = _blocking(calls.usage)
    health = _blocking(calls.health)
    glossaries = _blocking(calls.glossaries)
    glossary = _blocking(calls.glossary)
    create_glossary = _blocking(calls.create_glossary)
    rename_glossary = _blocking(calls.rename_glossary)
    delete_glossary = _blocking(calls.delete_glossary)
    glossary_entries = _blocking(calls.glossary_entries)
    add_glossary_entries = _blocking(calls.add_glossary_entries)
    replace_glossary_entries = _blocking(calls.replace_glossary_entries)
    delete_glossary_entries = _blocking(calls.delete_glossary_entries)

    def run(self, call: Call[T]) -> T:
        """Run a call to its result."""
        try:
            step = next(call)
            while True:
                try:
                    outcome = self._perform(step)
                except PairwayError as error:
                    step = call.throw(error)
                else:
                    step = call.send(outcome)
        except StopIteration as done:
            result: T = done.value
            return result
        finally:
            call.close()

    def close(self) -> None:
        """Close the connections."""
        if self._http is not None:
            self._http.close()
        if self._several is not None:
            loop, client = self._several
            loop.run(client.close())
            loop.close()
            self._several = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _perform(self, step: Step) -> Any:
        match step:
            case Send():
                return self._send(step)
            case Wait():
                return time.sleep(step.seconds)
            case Together():
                return self._together(step)

    def _send(self, step: Send) -> Reply | Lost:
        if self._http is None:
            with self.lock:
                self._http = self._http or opened(httpx.Client, verify=self.verify, mounts=self.mounts)
        deadline = self.session.now() + step.seconds
        request = self.request(step, dict.fromkeys(("read", "write", "pool"), step.seconds))
        try:
            response = self._http.send(request, stream=True)
            if is_stream(step, response):
                return Reply(response.status_code, response.headers, b"", response)
            with closing(response):
                parts: list[bytes] = []
                for part in response.iter_bytes():
                    parts.append(part)
                    if self.session.now() > deadline:  # a slow line brings a little within each read's limit
                        return Lost("no answer in time", sent=True, timed_out=True)
                return Reply(response.status_code, response.headers, b"".join(parts))
        except httpx.RequestError as error:
            return lost(error)

    def _together(self, step: Together) -> Any:
        """Run several requests in an event loop, where all can be interrupted."""
        with self.lock:
            if self._several is None:
                self._several = LoopThread(), AsyncClient.sharing(self)
            loop, client = self._several
        return loop.run(client.perform(step))


class LoopThread:
    """An event loop in a thread of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="pairway", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for the result; what interrupts the wait cancels the work first."""
        ended = threading.Event()

        async def noted() -> T:
            try:
                return await work
            finally:
                ended.set()

        future = asyncio.run_coroutine_threadsafe(noted(), self._loop)
        try:
            return future.result()
        except BaseException:
            if future.cancel():
                ended.wait(END_SECONDS)
            raise

    def close(self) -> None:
        """End the loop and its thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(END_SECONDS)
        if not self._thread.is_alive():
            self._loop.close()


class TranslationStream(Generic[T]):
    """A streamed translation: its deltas, then ``result``.

    Closing it ends the server's work.
    """

    def __init__(self, client: Client, plan: calls.StreamPlan[T]) -> None:
        self._client = client
        self._plan = plan
        self._reader: EventReader | None = None
        self._deltas = self._read()

    @property
    def result(self) -> T:
        """The translation with its warnings; raises StreamCutError before the end."""
        if self._reader is None:
            raise StreamCutError("The stream was not read yet.")
        result: T = self._reader.result
        return result

    def __iter__(self) -> Iterator[Delta]:
        return self._deltas

    def close(self) -> None:
        """Close the connection, if the stream has not ended."""
        self._deltas.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _read(self) -> Generator[Delta]:
        reply = self._client.run(self._plan.opening)
        reader = self._reader = reader_of(reply, one=self._plan.one)
        if reply.opened is None:
            yield from reader.read_whole(decoded(reply))
            return
        with closing(reply.opened):
            parts = reply.opened.iter_raw()
            while (part := self._next(parts, reader)) is not None:
                yield from reader.feed(part)
        _ = reader.result  # raises if the stream was cut

    def _next(self, parts: Iterator[bytes], reader: EventReader) -> bytes | None:
        """Return the next bytes, None at the end."""
        self._client.left(self._plan.deadline, reader)
        try:
            return next(parts, None)
        except httpx.RequestError as error:
            if reader.is_complete:
                return None
            raise stream_cut(error) from error
