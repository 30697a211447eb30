"""Control channel of a launcher: one JSON object in, one out, on a port of its own that product code knows nothing of."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

# Takes what is to change, returns how things stand now.
Apply = Callable[[dict[str, Any]], dict[str, Any]]
ANSWER_SECONDS = 5.0
# A relay's hits of a whole soak fit.
MAX_LINE_BYTES = 64 * 1024 * 1024


@asynccontextmanager
async def controlled(port: int, apply: Apply) -> AsyncGenerator[None]:
    """Serve the channel while the block lasts."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            line = await reader.readline()
            writer.write(json.dumps(apply(json.loads(line))).encode() + b"\n")
            await writer.drain()
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", port, limit=MAX_LINE_BYTES)
    try:
        yield
    finally:
        server.close()


async def send_command(port: int, **change: Any) -> dict[str, Any]:
    """Change something (or nothing) and return how things stand; fails when nobody answers within 5 s."""
    async with asyncio.timeout(ANSWER_SECONDS):
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=MAX_LINE_BYTES)
        try:
            writer.write(json.dumps(change).encode() + b"\n")
            return json.loads(await reader.readline())
        finally:
            writer.close()
