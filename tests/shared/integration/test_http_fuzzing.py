"""Broken HTTP thrown at a server, and what of all that reaches its log: no crash, no 500, and lines that nobody forged."""

from __future__ import annotations

import asyncio
import io
import json
import logging
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from typing import Any, cast

import pytest
from fastapi import FastAPI, Request, Response
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.http.app_setup import configure_app
from shared.http.body import read_json_body
from shared.parsing.byte_budget import ByteBudget
from shared.protocol.deadline import Deadline
from shared.runtime.logging import LogFormat, configure_logging
from shared.server.limits import ConnectionLimiter, PeerTimeouts
from tests.support.serving import Serving, serving

GOOD = b"GET /plain HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
PARTS = [
    *(b"GET ", b"POST ", b"/body", b"/plain", b"?q=1", b"*", b" HTTP/1.1", b" HTTP/1.0", b"\r\n", b"\n", b"\r\n\r\n"),
    *(b"Host: x\r\n", b"Content-Length: 5\r\n", b"Content-Length: 0\r\n", b"Transfer-Encoding: chunked\r\n"),
    *(b"Content-Type: application/json\r\n", b"Expect: 100-continue\r\n", b"Connection: close\r\n"),
    *(
        b"Connection: Upgrade\r\nUpgrade: h2c\r\n",
        b"5\r\nhello\r\n",
        b"0\r\n\r\n",
        b"hello",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ),
    *(
        b"X-Request-Id: a\r\n",
        b"X-Forwarded-For: 1.2.3.4\r\n",
        b": \r\n",
        b"\x00",
        b"\xff\xfe",
        b"%00",
        b"//",
        b"http://y/",
    ),
]
MESSAGES = {"request", "request refused", "Invalid HTTP request received."}
SECRET = "a-secret-that-no-log-may-hold"


@pytest.fixture(scope="module")
async def served() -> AsyncGenerator[Serving]:
    app = FastAPI()

    async def plain() -> Response:
        return Response("plain")

    async def body(request: Request) -> Response:
        with ByteBudget(4000).reserve() as hold:
            read = await read_json_body(request, 1000, Deadline.after(0.2, asyncio.get_running_loop().time), hold)
        return Response(str(len(read)))

    app.add_api_route("/plain", plain)
    app.add_api_route("/body", body, methods=["POST"])
    configure_app(app)
    limiter = ConnectionLimiter(timeouts=PeerTimeouts(head=0.1, body=0.1, linger=0.1, linger_idle=0.05))
    async with serving(app, limiter, trusted_proxies=("127.0.0.1",)) as one:
        yield one


async def talk(served: Serving, data: bytes) -> bytes:
    """Send bytes and the end of them; return all that comes back."""
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    parts: list[bytes] = []
    try:
        writer.write(data)
        async with asyncio.timeout(5):
            while part := await reader.read(65_536):
                parts.append(part)
    except ConnectionError:
        pass
    finally:
        writer.close()
    return b"".join(parts)


@given(
    st.lists(st.sampled_from(PARTS) | st.binary(max_size=8), max_size=14).map(b"".join)
    | st.tuples(st.integers(0, len(GOOD)), st.binary(max_size=4)).map(
        lambda cut: GOOD[: cut[0]] + cut[1] + GOOD[cut[0] :]
    )
)
async def test_broken_http_causes_no_500_and_no_crash(served: Serving, data: bytes) -> None:
    # The end is a good request that closes, so that a connection which is only idle does not have to be waited for.
    for line in (await talk(served, data + b"\r\n\r\n" + GOOD)).split(b"\r\n"):
        assert not line.startswith((b"HTTP/1.1 5", b"HTTP/1.1 2")) or line in {
            b"HTTP/1.1 200 OK",
            b"HTTP/1.1 504 Gateway Timeout",
        }
    assert (await talk(served, GOOD)).endswith(b"plain")


@contextmanager
def logged(log_format: LogFormat) -> Generator[io.StringIO]:
    """Send this process's log, in that form, to a text."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    root.handlers.clear()
    kept = io.StringIO()
    configure_logging("info", log_format)
    cast("logging.StreamHandler[Any]", root.handlers[0]).setStream(kept)
    try:
        yield kept
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)


hostile = st.text(
    alphabet=st.sampled_from(
        [*"ab/%", *map(chr, range(1, 32)), "\x7f", "\x85", "\x9b", "\u2028", "\u202e", "é", "\u0000"]
    ),
    min_size=1,
    max_size=20,
)


@pytest.mark.parametrize("log_format", ["json", "text"])
@settings(max_examples=25)
@given(path=hostile, value=hostile)
async def test_log_lines_are_printable_and_without_secrets(
    served: Serving, log_format: LogFormat, path: str, value: str
) -> None:
    escaped = "".join(f"%{byte:02x}" for byte in path.encode())
    sent = value.replace("\r", "").replace("\n", "").replace("\0", "").encode("latin-1", "replace")
    request = (
        b"GET /"
        + escaped.encode()
        + b"?q="
        + SECRET.encode()
        + b" HTTP/1.1\r\nHost: "
        + SECRET.encode()
        + b"\r\nAuthorization: Bearer "
        + SECRET.encode()
        + b"\r\nX-Request-Id: "
        + sent
        + b"\r\nX-Forwarded-For: "
        + SECRET.encode()
        + b"\r\nConnection: close\r\n\r\n"
    )
    with logged(log_format) as kept:
        await talk(served, request)
    text = kept.getvalue()
    assert SECRET not in text
    lines = text.removesuffix("\n").split("\n")
    assert 1 <= len(lines) <= 2, "one of ours, and uvicorn's own where it was no HTTP"
    assert all(map(str.isprintable, lines))
    if log_format == "json":
        assert all(json.loads(line)["message"] in MESSAGES for line in lines)
