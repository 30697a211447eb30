"""Parser of the answers on one connection to a replica."""

from __future__ import annotations

from typing import Final

import httptools

from proxy.upstream.errors import BrokenAnswerError
from proxy.upstream.response_classifier import OK, ReplicaResponse
from proxy.upstream.stream_reader import StreamReader
from shared.protocol.sse_format import EVENT_STREAM
from shared.runtime.logging import describe

MAX_HEAD_BYTES: Final = 64 * 1024
_EVENT_STREAM: Final = EVENT_STREAM.encode()


class AnswerParser:
    """Parser of one answer after another; skips interim answers (1xx).

    No byte may follow an answer before the next request.
    """

    def __init__(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._is_reusable = False
        self.begin(0, None)
        self.is_whole = True

    def begin(self, limit: int, reader: StreamReader | None) -> None:
        """Expect an answer of at most ``limit`` bytes; ``reader`` gets its translation."""
        self._limit, self._reader = limit, reader
        self.received = self._status = 0
        self.is_whole = self._has_head = False
        self._parts: list[bytes] = []

    def feed(self, data: bytes) -> ReplicaResponse | None:
        """Parse a part; return the response once complete.

        A stream is complete with its last event.

        Raises:
            BrokenAnswerError: the answer is too long or invalid.
        """
        self.received += len(data)
        error: Exception | None = None
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as cause:
            self._is_reusable, error = False, cause
        response = self._response()
        if response is None and error is not None:
            raise BrokenAnswerError(describe(error)) from error
        return response

    def end(self, error: Exception | None) -> ReplicaResponse | None:
        """Return the response whose end is the end of its connection.

        Raises:
            BrokenAnswerError: the answer is incomplete, or the connection ended with an error.
        """
        if error is not None or not self._has_head or self._is_framed:
            raise BrokenAnswerError("the connection was closed" if error is None else describe(error))
        self.is_whole = True
        return self._response()

    @property
    def is_reusable(self) -> bool:
        """Whether the connection can be used again: answer complete, kept alive."""
        return self.is_whole and self._is_reusable

    def _response(self) -> ReplicaResponse | None:
        if not self._has_head:
            if self.received > MAX_HEAD_BYTES:
                raise BrokenAnswerError(f"the answer's head has more than {MAX_HEAD_BYTES} bytes")
            return None
        if max(self.received, self._length) > self._limit:
            raise BrokenAnswerError(f"the answer has more than {self._limit} bytes")
        if self._reader is not None and self._is_stream:
            parts, self._parts = self._parts, []
            for part in parts:
                if (last := self._reader.feed(part)) is not None:
                    return last
            if self.is_whole:
                raise BrokenAnswerError("the stream ended without a result")
        if not self.is_whole:
            return None
        body = b"".join(self._parts)
        self._parts = []  # an idle connection would keep them
        if self._reader is not None and self._status == OK:
            self._reader.read_whole(body)
        return ReplicaResponse(self._status, body, self._retry_after)

    def on_message_begin(self) -> None:
        """Begin an answer."""
        if self.is_whole:
            raise BrokenAnswerError("more than one answer")
        self._is_framed = self._is_stream = False
        self._length, self._retry_after = 0, None

    def on_header(self, name: bytes, value: bytes) -> None:
        """Read the headers that matter; ignore trailers."""
        if self._has_head:
            return
        match name.lower():
            case b"content-length":
                self._is_framed, self._length = True, int(value)
            case b"transfer-encoding":
                self._refuse_encoding(value, b"chunked")
                self._is_framed = True
            case b"content-encoding":
                self._refuse_encoding(value, b"identity")
            case b"content-type":
                self._is_stream = value.partition(b";")[0].strip().lower() == _EVENT_STREAM
            case b"retry-after":
                self._retry_after = float(value) if value.isdigit() else None
            case _:
                pass

    @staticmethod
    def _refuse_encoding(value: bytes, accepted: bytes) -> None:
        if value.strip().lower() != accepted:
            raise BrokenAnswerError(
                f"the answer is encoded as {value[:40].decode(errors='replace')!r}, which was not requested"
            )

    def on_headers_complete(self) -> None:
        """Read the status."""
        self._status = self._parser.get_status_code()
        self._has_head = self._status >= OK
        self._is_reusable = self._parser.should_keep_alive() and self._parser.get_http_version() == "1.1"

    def on_body(self, part: bytes) -> None:
        """Store a part of the body."""
        self._parts.append(part)

    def on_message_complete(self) -> None:
        """Mark the answer as complete, unless it is an interim one."""
        self.is_whole = self._has_head
