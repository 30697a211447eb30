"""``python -m proxy`` as a process of its own, with a client that speaks to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx

from tests.conftest import PREFIX, RedisServer
from tests.support.fake_replica import FakeReplica
from tests.support.processes import Server, free_port, python_server
from tests.support.waiting import Awake, wait_until


async def readiness(client: httpx.AsyncClient) -> int:
    """Return the status, 0 where nobody listens."""
    try:
        return (await client.get("/readyz")).status_code
    except httpx.TransportError:
        return 0


@asynccontextmanager
async def proxy_process(
    folder: Path, redis: RedisServer, *fakes: FakeReplica, **settings: str
) -> AsyncGenerator[tuple[Server, httpx.AsyncClient]]:
    port = free_port()
    environment = {
        "PROXY_PORT": str(port),
        "PROXY_REPLICAS": ",".join(fake.url for fake in fakes),
        "PROXY_REDIS_URL": redis.url,
        "PROXY_REDIS_PREFIX": PREFIX,
        "PROXY_PROBE_INTERVAL": "0.2",
        "PROXY_PROBE_TIMEOUT": "10",  # a report that comes late finds no replica dead
        **{f"PROXY_{name.upper()}": value for name, value in settings.items()},
    }
    server = python_server("proxy", folder, environment, "proxy")
    server.start()
    try:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=20) as client:

            async def ready() -> bool:
                return await readiness(client) == 200

            await wait_until(ready, 20, "the proxy is ready")
            yield server, client
    finally:
        server.stop()


async def exit_code_of(server: Server) -> int:
    assert server.process is not None
    with Awake() as awake:
        code = await asyncio.to_thread(server.process.wait, 60)
    assert awake.seconds < 20
    return code
