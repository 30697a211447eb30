"""HTTP answers out of the bytes of a connection. Pure; fast, because the load generator has little of a core."""

from __future__ import annotations

from typing import Final, NamedTuple

HEAD_END: Final = b"\r\n\r\n"
LENGTH: Final = b"\r\ncontent-length:"
CHUNKED: Final = b"\r\ntransfer-encoding: chunked"
# The answers here are a few hundred bytes.
MAX_BYTES: Final = 1 << 20


class BrokenHttpError(Exception):
    """What came is no HTTP answer that this reader knows."""


class HttpAnswer(NamedTuple):
    """Status and whole body."""

    status: int
    body: bytes


class AnswerReader:
    """Mutable: what has come of the answer that is not whole yet, at most ``MAX_BYTES``."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._rest = b""

    def feed(self, data: bytes) -> list[HttpAnswer]:
        """Take what came; return the answers that are whole now.

        Raises:
            BrokenHttpError: no more can be read from this connection.
        """
        data = self._rest + data if self._rest else data
        answers: list[HttpAnswer] = []
        while (found := _first(data)) is not None:
            answer, end = found
            answers.append(answer)
            data = data[end:]
        if len(data) > MAX_BYTES:
            raise BrokenHttpError(f"an answer of more than {MAX_BYTES} bytes")
        self._rest = data
        return answers


def _first(data: bytes) -> tuple[HttpAnswer, int] | None:
    """Return the first answer and where it ends, None when it is not whole."""
    begin = data.find(HEAD_END)
    if begin < 0:
        return None
    head = data[:begin].lower()
    begin += len(HEAD_END)
    try:
        status = int(head[9:12])
        if (at := head.find(LENGTH)) >= 0:
            end = begin + int(head[at + len(LENGTH) :].split(b"\r\n", 1)[0])
            return None if len(data) < end else (HttpAnswer(status, data[begin:end]), end)
        if CHUNKED in head:
            return _chunked(data, begin, status)
    except ValueError:
        raise BrokenHttpError(f"no HTTP answer: {head[:80]!r}") from None
    raise BrokenHttpError("an answer that does not say its length")


def _chunked(data: bytes, at: int, status: int) -> tuple[HttpAnswer, int] | None:
    """Put the chunks together; trailers are not known here."""
    parts: list[bytes] = []
    while (line_end := data.find(b"\r\n", at)) >= 0:
        size = int(data[at:line_end].split(b";", 1)[0], 16)
        begin = line_end + 2
        at = begin + size + 2
        if len(data) < at:
            return None
        if size == 0:
            return HttpAnswer(status, b"".join(parts)), at
        parts.append(data[begin : begin + size])
    return None
