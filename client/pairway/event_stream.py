"""Event stream: bytes of a streamed translation to deltas and the result."""

from __future__ import annotations

import codecs
import json
from typing import Any, Final

from .answers import Delta, Translation
from .errors import AnswerError, ProblemError, StreamCutError, problem_of
from .translate_call import understood

# A result has the answer of a whole request; this bounds what a foreign server can make us keep.
MAX_EVENT_CHARS: Final = 64 << 20


class EventReader:
    """Reader of events as their bytes arrive, and of the result."""

    def __init__(self, *, one: bool, request_id: str | None) -> None:
        self._one = one
        self._results: list[Translation] | None = None
        self._request_id = request_id
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest: list[str] = []
        self._rest_chars = 0
        self._name = ""
        self._data: list[str] = []

    def feed(self, part: bytes) -> list[Delta]:
        """Return the deltas that are complete; raise the problem of an error."""
        text = self._decoder.decode(part)
        head, newline, tail = text.rpartition("\n")
        self._rest_chars += len(text)
        if self._rest_chars > MAX_EVENT_CHARS:
            raise AnswerError("An event of the stream is too long.", request_id=self._request_id)
        if not newline:
            self._rest.append(tail)
            return []
        lines = "".join([*self._rest, head]).split("\n")
        self._rest, self._rest_chars = [tail], len(tail) + sum(map(len, self._data))
        return [delta for line in lines if (delta := self._line(line.removesuffix("\r"))) is not None]

    @property
    def is_complete(self) -> bool:
        """Whether the result is there."""
        return self._results is not None

    @property
    def result(self) -> Any:
        """The translation, or those of a list; raises StreamCutError without."""
        if self._results is None:
            raise StreamCutError("The stream ended without its result.", request_id=self._request_id)
        return self._results[0] if self._one else self._results

    def read_whole(self, members: dict[str, Any]) -> list[Delta]:
        """Take a whole answer as the result; return its texts."""
        with understood():
            self._results = [Translation.of(each) for each in members.get("results", [members])]
            texts = [each.text for each in self._results]
        return [Delta(index, text) for index, text in enumerate(texts) if text]

    def _line(self, line: str) -> Delta | None:
        if line:
            name, _, value = line.partition(":")
            if name == "event":
                self._name = value.removeprefix(" ")
            elif name == "data":
                self._data.append(value.removeprefix(" "))
            return None
        name, data = self._name, "\n".join(self._data)
        self._name, self._data = "", []
        return self._event(name, data) if data else None

    def _event(self, name: str, data: str) -> Delta | None:
        with understood():
            members: dict[str, Any] = json.loads(data)
            if name == "delta":
                return Delta(members["index"], members["text"])
            if name == "result":
                self.read_whole(members)
            problem = self._problem(members) if name == "error" else None
        if problem is not None:
            raise problem
        return None

    def _problem(self, members: dict[str, Any]) -> ProblemError:
        return problem_of(int(members.get("status", 500)), members, request_id=self._request_id, retry_after=None)
