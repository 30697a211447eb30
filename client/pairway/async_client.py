"""Async client: the API for programs with an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar

import httpx

from . import calls, translate_call
from .answers import Delta
from .errors import DeadlineError, PairwayError, StreamCutError
from .event_stream import EventReader
from .exchange import Session, decoded
from .steps import Call, Lost, Reply, Send, Step, Together, Wait
from .transport import Connection, is_stream, lost, opened, reader_of, stream_cut

P = ParamSpec("P")
T = TypeVar("T")


def _awaited(
    call: Callable[Concatenate[Session, P], Call[T]],
) -> Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, T]]:
    """Return the method that runs a call."""

    @wraps(call)
    async def method(client: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await client.run(call(client.session, *args, **kwargs))

    return method


def _streamed(
    call: Callable[Concatenate[Session, P], calls.StreamPlan[T]],
) -> Callable[Concatenate[AsyncClient, P], AsyncTranslationStream[T]]:
    """Return the method that opens a stream."""

    @wraps(call)
    def method(client: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> AsyncTranslationStream[T]:
        return AsyncTranslationStream(client, call(client.session, *args, **kwargs))

    return method


class AsyncClient(Connection):
    """A client whose methods are awaited.

    Close it, or use it as a context manager. A cancelled task closes its connections,
    so that the server stops its work.
    """

    _http: httpx.AsyncClient | None = None

    translate = _awaited(translate_call.translate)
    stream = _streamed(calls.stream)
    detect = _awaited(calls.detect)
    languages = _awaited(calls.languages)
    usage = _awaited(calls.usage)
    health = _awaited(calls.health)
    glossaries = _awaited(calls.glossaries)
    glossary = _awaited(calls.glossary)
    create_glossary = _awaited(calls.create_glossary)
    rename_glossary = _awaited(calls.rename_glossary)
    delete_glossary = _awaited(calls.delete_glossary)
    glossary_entries = _awaited(calls.glossary_entries)
    add_glossary_entries = _awaited(calls.add_glossary_entries)
    replace_glossary_entries = _awaited(calls.replace_glossary_entries)
    delete_glossary_entries = _awaited(calls.delete_glossary_entries)

    async def run(self, call: Call[T]) -> T:
        """Run a call to its result."""
        try:
            step = next(call)
            while True:
                try:
                    outcome = await self.perform(step)
                except PairwayError as error:
                    step = call.throw(error)
                else:
                    step = call.send(outcome)
        except StopIteration as done:
            result: T = done.value
            return result
        finally:
            call.close()

    async def perform(self, step: Step) -> Any:
        """Do one step, and return its outcome."""
        match step:
            case Send():
                return await self._send(step)
            case Wait():
                return await asyncio.sleep(step.seconds)
            case Together():
                return await self._together(step)

    async def close(self) -> None:
        """Close the connections."""
        if self._http is not None:
            await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def _send(self, step: Send) -> Reply | Lost:
        if self._http is None:
            self._http = opened(httpx.AsyncClient, verify=self.verify)
        # The time limit around all of it is enough.
        request = self.request(step, {})
        try:
            async with asyncio.timeout(step.seconds):
                response = await self._http.send(request, stream=step.opens)
                if is_stream(step, response):
                    return Reply(response.status_code, response.headers, b"", response)
                if step.opens:
                    await response.aread()
                return Reply(response.status_code, response.headers, response.content)
        except TimeoutError:
            return Lost("no answer in time", sent=True, timed_out=True)
        except httpx.RequestError as error:
            return lost(error)

    async def _together(self, step: Together) -> list[Any]:
        calls_left, results = enumerate(step.calls), dict[int, Any]()

        async def work() -> None:
            for place, call in calls_left:
                results[place] = await self.run(call)

        workers = [asyncio.create_task(work()) for _ in range(step.concurrency)]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
        return [results[place] for place in range(len(results))]


class AsyncTranslationStream(Generic[T]):
    """A streamed translation: its deltas, then ``result``.

    Closing it ends the server's work.
    """

    def __init__(self, client: AsyncClient, plan: calls.StreamPlan[T]) -> None:
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

    def __aiter__(self) -> AsyncIterator[Delta]:
        return self._deltas

    async def close(self) -> None:
        """Close the connection, if the stream has not ended."""
        await self._deltas.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def _read(self) -> AsyncGenerator[Delta]:
        reply = await self._client.run(self._plan.opening)
        reader = self._reader = reader_of(reply, one=self._plan.one)
        if reply.opened is None:
            for delta in reader.read_whole(decoded(reply)):
                yield delta
            return
        try:
            parts = reply.opened.aiter_raw()
            while (part := await self._next(parts, reader)) is not None:
                for delta in reader.feed(part):
                    yield delta
        finally:
            await reply.opened.aclose()
        _ = reader.result  # raises if the stream was cut

    async def _next(self, parts: AsyncIterator[bytes], reader: EventReader) -> bytes | None:
        """Return the next bytes, None at the end or behind the result."""
        seconds = self._client.left(self._plan.deadline, reader)
        try:
            async with asyncio.timeout(seconds):
                return await anext(parts, None)
        except TimeoutError:
            if reader.is_complete:
                return None
            raise DeadlineError("The call's deadline passed during the stream.") from None
        except httpx.RequestError as error:
            if reader.is_complete:
                return None
            raise stream_cut(error) from error
