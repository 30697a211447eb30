"""Reader of streamed translations."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from pydantic import TypeAdapter, ValidationError

from proxy.upstream.response_classifier import BrokenAnswerError, ReplicaResponse, read_problem
from shared.protocol import sse_format
from shared.protocol.answers import KEEPS_NO_WORDS, Translation, Translations
from shared.protocol.sse_format import OnDelta

# The translations of the largest list, and their JSON; no API server sends more.
MAX_ANSWER_BYTES: Final = 64 * 1024 * 1024
# A stream has every text twice: in parts, and whole.
MAX_STREAM_BYTES: Final = 2 * MAX_ANSWER_BYTES

_WHOLE: Final = TypeAdapter[Translation | Translations](Translation | Translations, config=KEEPS_NO_WORDS)


class StreamReader:
    """Reader that calls ``on_delta`` with every part of a translation."""

    def __init__(self, on_delta: OnDelta) -> None:
        self._on_delta = on_delta
        self._events = sse_format.EventReader(MAX_ANSWER_BYTES)

    def feed(self, part: bytes) -> ReplicaResponse | None:
        """Pass on deltas; return the last event as response, or raise BrokenAnswerError."""
        try:
            for event in self._events.feed(part):
                match event.name:
                    case sse_format.DELTA:
                        delta = sse_format.Delta.model_validate_json(event.data)
                        self._on_delta(delta.index, delta.text)
                    case sse_format.RESULT:
                        return ReplicaResponse(HTTPStatus.OK, event.data)
                    case sse_format.ERROR:
                        problem = read_problem(event.data)
                        if problem is None:
                            raise BrokenAnswerError("the stream's error is no problem")
                        return ReplicaResponse(max(problem.status, HTTPStatus.BAD_REQUEST), event.data)
                    case _:  # an event of a later version
                        pass
        except ValidationError:
            raise BrokenAnswerError("the stream has an invalid event") from None
        except sse_format.BrokenStreamError as error:
            raise BrokenAnswerError(str(error)) from None
        return None

    def read_whole(self, body: bytes) -> None:
        """Pass on an answer that did not stream, or raise BrokenAnswerError."""
        try:
            answer = _WHOLE.validate_json(body)
            for index, translation in enumerate(answer.results if isinstance(answer, Translations) else [answer]):
                self._on_delta(index, translation.translation or "")
        except (ValidationError, sse_format.BrokenStreamError):
            raise BrokenAnswerError("the answer is no translation") from None
