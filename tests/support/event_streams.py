"""A reader of our event streams that shares nothing with the product's, and what must hold for every whole stream."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

import httpx

from tests.support.waiting import within_awake

ACCEPT_EVENTS = {"Accept": "text/event-stream"}


@dataclass(frozen=True, slots=True)
class StreamedAnswer:
    """One answer to a request for a stream: status, headers, events in order (the body alone where it is none)."""

    status: int
    headers: httpx.Headers
    events: list[tuple[str, dict[str, Any]]]
    problem: dict[str, Any]

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.events]

    @property
    def deltas(self) -> dict[int, str]:
        """The parts of each text, joined."""
        joined: dict[int, str] = defaultdict(str)
        for name, data in self.events:
            if name == "delta":
                joined[data["index"]] += data["text"]
        return dict(joined)

    @property
    def last(self) -> tuple[str, dict[str, Any]]:
        return self.events[-1]

    @property
    def result(self) -> dict[str, Any]:
        """The whole answer; all that was promised of a whole stream holds."""
        assert self.status == 200, self.problem
        name, result = self.last
        assert name == "result", self.last
        assert set(self.names[:-1]) <= {"delta"}
        whole = dict(enumerate(one["translation"] for one in result.get("results", [result])))
        assert self.deltas == {index: text for index, text in whole.items() if text}
        return result


def events_in(body: str) -> list[tuple[str, dict[str, Any]]]:
    """Take a whole stream apart."""
    found: list[tuple[str, dict[str, Any]]] = []
    for block in body.split("\n\n"):
        lines = [line for line in block.split("\n") if line and not line.startswith(":")]
        if lines:
            name, data = lines
            found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


async def request_stream(client: httpx.AsyncClient, body: object, **headers: str) -> StreamedAnswer:
    """Ask for a stream and wait for its end; a cut one raises httpx.RemoteProtocolError."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    response = await client.post("/translate", json=body, headers={**ACCEPT_EVENTS, **named})
    if response.headers["content-type"].startswith("text/event-stream"):
        return StreamedAnswer(response.status_code, response.headers, events_in(response.text), {})
    return StreamedAnswer(response.status_code, response.headers, [], response.json())


class StreamClient:
    """A client on a bare socket, which reads when it is told to."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.taken = b""

    async def until(self, text: bytes, within: float = 5) -> bytes:
        """Read until this has come, and return all that came."""
        await within_awake(self._read_until(text), within)
        return self.taken

    async def _read_until(self, text: bytes) -> None:
        while text not in self.taken:
            part = await self.reader.read(65_536)
            assert part, self.taken[-500:]
            self.taken += part

    async def rest(self, within: float = 5) -> bytes:
        """Read until the connection ends, however it does, and return all that came."""
        with suppress(ConnectionError):
            await within_awake(self._read_rest(), within)
        return self.taken

    async def _read_rest(self) -> None:
        while part := await self.reader.read(65_536):
            self.taken += part

    def hang_up(self) -> None:
        self.writer.close()


@asynccontextmanager
async def open_stream(
    port: int, body: object, *, read_ahead: int = 2**16, **headers: str
) -> AsyncGenerator[StreamClient]:
    """Send a request for a stream on a connection that closes with the block; ``read_ahead`` is half of what is read ahead."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=read_ahead)
    try:
        sent = json.dumps(body).encode()
        more = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        head = f"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAccept: text/event-stream\r\n{more}"
        writer.write(f"{head}Content-Length: {len(sent)}\r\n\r\n".encode() + sent)
        await writer.drain()
        yield StreamClient(reader, writer)
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
