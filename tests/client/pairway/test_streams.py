"""Streams at the wire: servers that stand still, break off, or answer without events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any, Literal

import pairway
import pytest

End = Literal["hang", "close"]
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: %b\r\nTransfer-Encoding: chunked\r\n\r\n"
EVENTS = HEAD % b"text/event-stream"
GOOD = {"translation": "Hallo", "source_lang": "en", "target_lang": "de"}
DELTA = b'event: delta\ndata: {"index":0,"text":"Hallo"}\n\n'
RESULT = b"event: result\ndata: " + json.dumps(GOOD).encode() + b"\n\n"


def chunks(*parts: bytes) -> bytes:
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts)


@asynccontextmanager
async def answering(content: bytes, end: End) -> AsyncGenerator[str]:
    """Answer every request with these bytes, and then nothing more, or the connection's end."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(content)
        await writer.drain()
        if end == "hang":
            while await reader.read(1 << 16):
                pass
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


async def streamed(kind: str, url: str, **options: Any) -> tuple[str, str]:
    """Return the deltas put together, and the result."""
    if kind == "blocking":
        return await asyncio.to_thread(_streamed, url, options)
    async with (
        pairway.AsyncClient(url) as client,
        client.stream("Hello", to="de", source="en", **options) as stream,
    ):
        return "".join([str(delta) async for delta in stream]), str(stream.result)


def _streamed(url: str, options: Any) -> tuple[str, str]:
    with pairway.Client(url) as client, client.stream("Hello", to="de", source="en", **options) as stream:
        return "".join(map(str, stream)), str(stream.result)


@pytest.mark.parametrize("kind", ["blocking", "async"])
@pytest.mark.parametrize(
    ("content", "end", "error"),
    [
        (EVENTS + chunks(DELTA), "hang", pairway.DeadlineError),
        (EVENTS + chunks(DELTA), "close", pairway.StreamCutError),
        (EVENTS + chunks(DELTA, b""), "close", pairway.StreamCutError),
    ],
    ids=["stands still", "breaks off", "ends without a result"],
)
async def test_stream_without_result_is_an_error(kind: str, content: bytes, end: End, error: type[Exception]) -> None:
    async with answering(content, end) as url:
        with pytest.raises(error):
            await streamed(kind, url, timeout=0.5)


@pytest.mark.parametrize(
    ("kind", "end"), [("blocking", "close"), ("async", "close"), ("async", "hang")], ids=["blocking", "async", "open"]
)
async def test_stream_is_whole_with_its_result(kind: str, end: End) -> None:
    """However the connection ends."""
    async with answering(EVENTS + chunks(DELTA, RESULT), end) as url:
        assert await streamed(kind, url) == ("Hallo", "Hallo")


@pytest.mark.parametrize("kind", ["blocking", "async"])
async def test_answer_without_events_is_one_delta(kind: str) -> None:
    content = HEAD % b"application/json" + chunks(json.dumps(GOOD).encode(), b"")
    async with answering(content, "close") as url:
        assert await streamed(kind, url) == ("Hallo", "Hallo")


async def test_stream_has_no_result_before_it_is_read() -> None:
    client = pairway.Client("http://127.0.0.1:1")
    for stream in (client.stream("Hello", to="de"), pairway.AsyncClient(client.url).stream("Hello", to="de")):
        with pytest.raises(pairway.StreamCutError, match="not read"):
            _ = stream.result
