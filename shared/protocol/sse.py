"""Server-sent events of a translation that streams: their names, their bytes, and who may have them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel, Field, StrictInt, StrictStr
from pydantic_core import to_json

EVENT_STREAM: Final = "text/event-stream"
# The part of a text that became final; the whole answer, always last; the problem, always last where it broke.
DELTA: Final = "delta"
RESULT: Final = "result"
ERROR: Final = "error"
# A comment, which every reader of events skips: it only keeps those in between from closing an idle connection.
KEEP_ALIVE: Final = b": still at work\n\n"

# What JSON may hold unescaped in a string and some readers of lines (Python's str.splitlines, so httpx) end a line at:
# U+0085, U+2028, U+2029.
_LINE_ENDS: Final = tuple((char.encode(), b"\\u%04x" % ord(char)) for char in "\x85\u2028\u2029")

# In ``Accept``: the ranges that JSON is in, the most telling first, and a range's weight, which is 1 where it is no such number.
_JSON_RANGES: Final = ("application/json", "application/*", "*/*")
_WEIGHT: Final = re.compile(r";\s*q\s*=\s*(0(?:\.[0-9]*)?|1(?:\.0*)?)\s*(?:;|$)")

# Takes a text's index in the request and its next part.
OnDelta = Callable[[int, str], None]


class BrokenStreamError(Exception):
    """What came is no stream of our events, or one event is far too large."""


class DeltaSink:
    """Takes the parts of a streamed answer; ``indices`` say as which text ``write`` gets text ``n``.

    Mutable state: whether one has come, whom to tell of each, and the response's ``headers``, set before the first one.
    """

    __slots__ = ("_indices", "_write", "headers", "on_progress", "started")

    def __init__(self, write: OnDelta, indices: Sequence[int] | None = None) -> None:
        self._write = write
        self._indices = indices
        self.on_progress: Callable[[], None] | None = None
        self.headers: dict[str, str] = {}
        self.started = False

    def __call__(self, index: int, text: str) -> None:
        """Take the next part of a text, or raise BrokenStreamError where there is no such text."""
        if self.on_progress is not None:
            self.on_progress()
        if self._indices is not None:
            if not 0 <= index < len(self._indices):
                raise BrokenStreamError(f"a delta of text {index} of {len(self._indices)}")
            index = self._indices[index]
        if text:
            self.started = True
            self._write(index, text)

    def renumbered(self, indices: Sequence[int]) -> DeltaSink:
        """Return a sink for some of the texts, which have these indices here."""
        return DeltaSink(self, indices)


class Delta(BaseModel):
    """The data of a delta: which text of the request (0 for a single one), and its next part."""

    index: StrictInt = Field(ge=0)
    text: StrictStr


@dataclass(frozen=True, slots=True)
class Event:
    """One event: its name (``message`` where it has none) and its data."""

    name: str
    data: bytes


def encode(name: str, data: bytes) -> bytes:
    """Return an event with JSON as its data, on one line, whatever a reader takes for the end of a line."""
    for raw, escape in _LINE_ENDS:
        data = data.replace(raw, escape)
    if b"\n" in data or b"\r" in data:  # between JSON's tokens only
        data = data.replace(b"\r", b" ").replace(b"\n", b" ")
    return b"event: %s\ndata: %s\n\n" % (name.encode(), data)


def encode_delta(index: int, text: str) -> bytes:
    """Return a delta as an event."""
    return encode(DELTA, to_json({"index": index, "text": text}))


class EventReader:
    """Takes a stream of events apart, however its bytes are cut; ``limit`` bounds the bytes of one. Linear time and memory.

    Lines end with LF or CRLF (a bare CR ends none). Mutable state: the event and the line that have begun.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._line = bytearray()
        self._data = bytearray()
        self._name = ""

    def feed(self, part: bytes) -> Iterator[Event]:
        """Yield the events that end in this part, or raise BrokenStreamError where one passes the limit."""
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
            case _:  # comments, and fields that mean nothing here
                pass

    def _finish_event(self) -> Event | None:
        """Return the event that an empty line ends; one without data is none."""
        name, self._name = self._name or "message", ""
        data = bytes(self._data.removesuffix(b"\n"))
        self._data.clear()
        return Event(name, data) if data else None


def accepts_events(accept: str) -> bool:
    """Say whether ``Accept`` asks for events: by name, and at least as much as for JSON."""
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
    """Return the OpenAPI description of the stream, beside the JSON answer."""
    text = (
        "With `Accept: text/event-stream`. `delta`: `{index, text}`, the next part of one text; parts of one text come "
        "in order and together are its translation, parts of several texts may come in turns. `result`: the JSON "
        "answer, always last. `error`: a problem, always last, where it broke after the stream began."
    )
    return {EVENT_STREAM: {"schema": {"type": "string", "description": text}}}
