"""Reader of streamed translations: passes deltas on, returns the response."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from http import HTTPStatus
from typing import Final

import aiohttp
from pydantic import TypeAdapter, ValidationError

from proxy.upstream.errors import BrokenAnswerError
from proxy.upstream.response import ReplicaResponse
from shared.protocol import sse
from shared.protocol.deadline import Deadline
from shared.protocol.messages import Problem, Translation, Translations
from shared.protocol.sse import OnDelta

# 128 texts of the largest size and what JSON adds; more is no answer of ours.
MAX_ANSWER_BYTES: Final = 64 * 1024 * 1024
# A stream says everything twice: in parts, and whole.
MAX_STREAM_BYTES: Final = 2 * MAX_ANSWER_BYTES
# The end of a stream comes with its last event; only a connection that ended can be used again.
END_SECONDS: Final = 1.0
# But not up to the deadline, which would take the answer away.
MARGIN_SECONDS: Final = 0.01

_WHOLE: Final = TypeAdapter[Translation | Translations](Translation | Translations)


async def read_stream(response: aiohttp.ClientResponse, on_delta: OnDelta, deadline: Deadline) -> ReplicaResponse:
    """Pass on a stream's deltas; return its last event as the response.

    Raises:
        BrokenAnswerError: it is too long, cannot be read, or ends without a result.
    """
    reader = sse.EventReader(MAX_ANSWER_BYTES)
    size = 0
    try:
        async for part in response.content.iter_any():
            size += len(part)
            if size > MAX_STREAM_BYTES:
                raise BrokenAnswerError(f"a stream of more than {MAX_STREAM_BYTES} bytes")
            last = _pass_on(reader.feed(part), on_delta)
            if last is not None:
                if last.problem is None:
                    await _read_end(response, deadline)
                return last
    except ValidationError:
        raise BrokenAnswerError("a stream with an event that can not be read") from None
    except sse.BrokenStreamError as error:
        raise BrokenAnswerError(str(error)) from None
    raise BrokenAnswerError("a stream that ended without a result")


def _pass_on(events: Iterable[sse.Event], on_delta: OnDelta) -> ReplicaResponse | None:
    """Pass deltas on; return the stream's last event if it has come."""
    for event in events:
        match event.name:
            case sse.DELTA:
                delta = sse.Delta.model_validate_json(event.data)
                on_delta(delta.index, delta.text)
            case sse.RESULT:
                return ReplicaResponse(HTTPStatus.OK, event.data, None, None)
            case sse.ERROR:
                problem = Problem.model_validate_json(event.data)
                return ReplicaResponse(max(problem.status, HTTPStatus.BAD_REQUEST), event.data, None, problem)
            case _:  # a later version may have more events
                pass
    return None


async def _read_end(response: aiohttp.ClientResponse, deadline: Deadline) -> None:
    """Read the stream's end, so that the connection can be reused."""
    left = deadline.remaining() - MARGIN_SECONDS
    with suppress(TimeoutError, aiohttp.ClientError):
        async with asyncio.timeout(min(END_SECONDS, left)):
            await response.content.readany()


def pass_on_whole(body: bytes, on_delta: OnDelta) -> None:
    """Pass on the translations of an answer that did not stream.

    Raises:
        BrokenAnswerError: it cannot be read.
    """
    try:
        answer = _WHOLE.validate_json(body)
    except ValidationError:
        raise BrokenAnswerError("an answer that can not be read") from None
    for index, translation in enumerate(answer.results if isinstance(answer, Translations) else [answer]):
        on_delta(index, translation.translation or "")
