"""The least that a Python proxy of libraries costs: ``python -m benchmarks.proxy.peers.asgi_aiohttp PORT REPLICA_PORT…``.

uvicorn, a raw ASGI app and aiohttp. It relays bytes to the replicas in turn and does nothing else. What ours costs beyond it is our own work.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import cycle

import aiohttp
import uvicorn
from uvicorn._types import ASGIReceiveCallable, ASGISendCallable, Scope
from yarl import URL


class Bare:
    """The proxy of these URLs, as an ASGI app; its client lives as long as the process."""

    def __init__(self, replicas: Sequence[str]) -> None:
        self._turns = cycle([URL(f"{url}/translate") for url in replicas])
        self._client: aiohttp.ClientSession | None = None

    async def __call__(self, _scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        """Relay one request."""
        body, more = b"", True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                return
            body += message["body"]
            more = message["more_body"]
        if self._client is None:
            connector = aiohttp.TCPConnector(limit=0)
            self._client = aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())
        headers = {"Content-Type": "application/json"}
        async with self._client.post(next(self._turns), data=body, headers=headers) as answer:
            content = await answer.read()
        sent = [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode())]
        await send({"type": "http.response.start", "status": answer.status, "headers": sent, "trailers": False})
        await send({"type": "http.response.body", "body": content, "more_body": False})


if __name__ == "__main__":
    uvicorn.run(
        Bare([f"http://127.0.0.1:{port}" for port in sys.argv[2:]]),
        port=int(sys.argv[1]),
        log_level="warning",
        access_log=False,
        loop="uvloop",
        http="httptools",
        lifespan="off",
    )
