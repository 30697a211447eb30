"""What one writes first: a proxy of FastAPI and httpx, ``python -m benchmarks.proxy.peers.fastapi_httpx PORT REPLICA_PORT…``.

It relays a request to the replicas in turn and does nothing else: it reads no JSON and knows of no health.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from itertools import cycle

import httpx
import uvicorn
from fastapi import FastAPI, Request, Response


def create_app(replicas: Sequence[str]) -> FastAPI:
    """Return the proxy of these URLs."""
    # No limit of connections, as ours: httpx's own, 100, would let requests wait at 128.
    client = httpx.AsyncClient(limits=httpx.Limits(max_connections=None, max_keepalive_connections=None), timeout=30)
    turns = cycle(replicas)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncGenerator[None]:
        async with client:
            yield

    app = FastAPI(lifespan=lifespan)

    @app.post("/translate")
    async def translate(request: Request) -> Response:  # pyright: ignore[reportUnusedFunction] - FastAPI calls it
        answer = await client.post(
            f"{next(turns)}/translate",
            content=await request.body(),
            headers={"Content-Type": request.headers["Content-Type"]},
        )
        return Response(answer.content, answer.status_code, media_type=answer.headers.get("Content-Type"))

    return app


if __name__ == "__main__":
    uvicorn.run(
        create_app([f"http://127.0.0.1:{port}" for port in sys.argv[2:]]),
        port=int(sys.argv[1]),
        log_level="warning",
        access_log=False,
    )
