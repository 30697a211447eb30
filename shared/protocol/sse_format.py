"""Server-sent events of a streamed translation."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel, Field, StrictInt, StrictStr
from pydantic_core import to_json

from shared.protocol.answers import KEEPS_NO_WORDS

EVENT_STREAM: Final = "text/event-stream"
# A text's next part; the whole answer, last; a problem, last.
DELTA: Final = "delta"
RESULT: Final = "result"
ERROR: Final = "error"
# A comment, so that servers in between keep an idle connection open.
KEEP_ALIVE: Final = b": still at work\n\n"

# JSON may hold these unescaped, but some readers (httpx) end a line there.
_LINE_ENDS: Final = tuple((char.encode(), b"\\u%04x" % ord(char)) for char in "\x85\u2028\u2029")

# In ``Accept``: JSON's ranges, most specific first; a weight, 1 if malformed.
_JSON_RANGES: Final = ("application/json", "application/*", "*/*")
_WEIGHT: Final = re.compile(r";\s*q\s*=\s*(0(?:\.[0-9]*)?|1(?:\.0*)?)\s*(?:;|$)")

# Gets a text's index and its next part.
OnDelta = Callable[[int, str], None]


class BrokenStreamError(Exception):
    """An event is unexpected or too large."""


class DeltaSink:
    """Receiver of the parts of a streamed answer.

    ``write`` gets text ``n`` as text ``indices[n]``. Each part calls ``on_progress``; the first sets ``started``. The
    response's ``headers`` are set before.
    """

    __slots__ = ("_indices", "_write", "headers", "on_progress", "started")

    def __init__(self, write: OnDelta, indices: Sequence[int] | None = None) -> None:
        self._write = write
        self._indices = indices
        self.on_progress: Callable[[], None] | None = None
        self.headers: dict[str, str] = {}
        self.started = False

    def __call__(self, index: int, text: str) -> None:
        """Pass on a text's next part."""
        if self.on_progress is not None:
            self.on_progress()
        if self._indices is not None:
            if not 0 <= index < len(self._indices):
                raise BrokenStreamError(f"a delta of text {index}, but there are {len(self._indices)}")
            index = self._indices[index]
        if text:
            self.started = True
            self._write(index, text)

    def renumbered(self, indices: Sequence[int]) -> DeltaSink:
        """Return a sink for the texts that have these indices here."""
        return DeltaSink(self, indices)


class Delta(BaseModel):
    """Data of a delta."""

    model_config = KEEPS_NO_WORDS

    index: StrictInt = Field(ge=0)
    text: StrictStr


@dataclass(frozen=True, slots=True)
class Event:
    """Event of a stream."""

    name: str
    data: bytes


def encode(name: str, data: bytes) -> bytes:
    """Return an event, its JSON on one line."""
    for raw, escape in _LINE_ENDS:
        data = data.replace(raw, escape)
    if b"\n" in data or b"\r" in data:  # only between tokens of JSON
        data = data.replace(b"\r", b" ").replace(b"\n", b" ")
    return b"event: %s\ndata: %s\n\n" % (name.encode(), data)


def encode_delta(index: int, text: str) -> bytes:
    """Return a delta as an event."""
    return encode(DELTA, to_json({"index": index, "text": text}))


class EventReader:
    """Parser of an event stream, in linear time.

    ``limit`` bounds an event's bytes. Lines end with LF or CRLF, not with CR.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._line = bytearray()
        self._data = bytearray()
        self._name = ""

    def feed(self, part: bytes) -> Iterator[Event]:
        """Yield the events that end in this part.

        Raises:
            BrokenStreamError: an event exceeds the limit.
        """
        start = 0
        while (end := part.find(b"\n", start)) >= 0:
            self._append(part[start:end])
            line = bytes(self._line.removesuffix(b"\r"))
            self._line.clear()
            start = end + 1
            if line:
                self._parse_line(line)
            elif event := self._finish_event():
                yield event
        self._append(part[start:])

    def _append(self, part: bytes) -> None:
        self._line += part
        if len(self._line) + len(self._data) > self._limit:
            raise BrokenStreamError(f"an event of more than {self._limit} bytes")

    def _parse_line(self, line: bytes) -> None:
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        match field:
            case b"data":
                self._data += value + b"\n"
            case b"event":
                self._name = value.decode(errors="replace")
            case _:  # comments and unused fields
                pass

    def _finish_event(self) -> Event | None:
        name, self._name = self._name or "message", ""
        data = bytes(self._data.removesuffix(b"\n"))
        self._data.clear()
        return Event(name, data) if data else None


def accepts_events(accept: str) -> bool:
    """Return whether ``Accept`` names events, with at least the weight of JSON."""
    accept = accept.lower()
    if EVENT_STREAM not in accept:
        return False
    weights: dict[str, float] = {}
    for part in accept.split(","):
        kind, weight = part.partition(";")[0].strip(), _WEIGHT.search(part)
        weights[kind] = max(weights.get(kind, 0.0), 1.0 if weight is None else float(weight[1]))
    stream = weights.get(EVENT_STREAM, 0.0)
    return stream > 0 and stream >= next((weights[kind] for kind in _JSON_RANGES if kind in weights), 0.0)


def documentation() -> dict[str, Any]:
    """Return the stream's OpenAPI description."""
    text = (
        "With `Accept: text/event-stream`. `delta`: `{index, text}`, the next part of one text; the parts of a text "
        "come in order and together are its translation, parts of several texts may alternate. `result`: the JSON "
        "answer, always last. `error`: a problem, always last, if the translation failed after the stream began."
    )
    return {EVENT_STREAM: {"schema": {"type": "string", "description": text}}}
