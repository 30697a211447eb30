"""A client that speaks bytes on a raw socket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any

from tests.support.serving import Serving
from tests.support.waiting import within_awake


class RawClient:
    """A connection on which bytes are sent as they are."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    async def rest(self, within: float = 5) -> bytes:
        """Return all that comes until the server closes; a reset ends it too."""
        parts: list[bytes] = []

        async def read() -> None:
            while part := await self.reader.read(65_536):
                parts.append(part)

        with suppress(ConnectionError):
            await within_awake(read(), within)
        return b"".join(parts)

    async def answer(self, within: float = 5) -> tuple[int, dict[str, str], bytes]:
        """Return the next answer: status, headers and body."""
        return await within_awake(self._read_answer(), within)

    async def _read_answer(self) -> tuple[int, dict[str, str], bytes]:
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        line, *lines = head.strip().split("\r\n")
        headers = {name.lower(): value for name, _, value in (each.partition(": ") for each in lines)}
        return int(line.split()[1]), headers, await self.reader.readexactly(int(headers["content-length"]))

    async def refused(self, status: int, code: str) -> dict[str, Any]:
        """Take a problem as answer, after which the connection closes."""
        answered, headers, body = await self.answer()
        problem = json.loads(body)
        assert (answered, problem["status"], problem["code"]) == (status, status, code)
        assert headers["content-type"] == "application/problem+json"
        assert headers["connection"] == "close"
        assert headers["x-request-id"] == problem["request_id"]
        assert headers["x-content-type-options"] == "nosniff"
        assert "server" not in headers
        assert await self.rest() == b""
        return problem


@asynccontextmanager
async def raw_client(served: Serving) -> AsyncGenerator[RawClient]:
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    try:
        yield RawClient(reader, writer)
    finally:
        writer.close()
