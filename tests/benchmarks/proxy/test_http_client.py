"""The reader of HTTP responses."""

from __future__ import annotations

import pytest

from benchmarks.proxy.http_client import MAX_BYTES, BrokenHttpError, HttpResponse, ResponseReader

PLAIN_ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nX: y\r\n\r\nhello"
CHUNKED_ANSWER = b"HTTP/1.1 503 No\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n"


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_responses_are_read_however_they_are_cut(size: int) -> None:
    data = PLAIN_ANSWER + CHUNKED_ANSWER + PLAIN_ANSWER
    reader = ResponseReader()
    answers = [answer for at in range(0, len(data), size) for answer in reader.feed(data[at : at + size])]
    assert answers == [HttpResponse(200, b"hello"), HttpResponse(503, b"hello"), HttpResponse(200, b"hello")]


@pytest.mark.parametrize(
    "data",
    [
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nServer: x\r\n\r\n",
        b"x" * (MAX_BYTES + 1),
    ],
)
def test_broken_http_is_refused(data: bytes) -> None:
    with pytest.raises(BrokenHttpError):
        ResponseReader().feed(data)
