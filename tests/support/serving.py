"""An app on a real socket, served by the real uvicorn."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager

import uvicorn
from fastapi import FastAPI
from typing_extensions import override

from shared.server.draining_server import server_config
from shared.server.limits import ConnectionLimiter
from tests.support.waiting import wait_until


class _Uvicorn(uvicorn.Server):
    """The real server, in a test's own loop: leaves the signals to pytest."""

    @override
    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


class Serving:
    """An app on a real socket."""

    def __init__(
        self, app: FastAPI, limiter: ConnectionLimiter | None = None, trusted_proxies: Sequence[str] = ()
    ) -> None:
        self.app = app
        self.limiter = limiter or ConnectionLimiter()
        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        self.port = int(self._socket.getsockname()[1])
        self.url = f"http://127.0.0.1:{self.port}"
        config = server_config(
            app, host="127.0.0.1", port=0, grace_seconds=1.0, limiter=self.limiter, trusted_proxies=trusted_proxies
        )
        self._server = _Uvicorn(config)
        self._task: asyncio.Task[None] | None = None

    @property
    def connections(self) -> int:
        """Connections that are open."""
        return len(self._server.server_state.connections)

    @property
    def begun(self) -> int:
        """Requests in flight."""
        return len(self._server.server_state.tasks)

    async def start(self) -> None:
        self._task = asyncio.create_task(self._server.serve([self._socket]))
        await wait_until(lambda: self._server.started or (self._task is not None and self._task.done()), 10, "uvicorn")
        assert self._server.started, "the app did not start"

    async def stop(self) -> None:
        if self._task is not None:
            self._server.should_exit = True
            await self._task
            self._task = None
        self._socket.close()


@asynccontextmanager
async def serving(
    app: FastAPI, limiter: ConnectionLimiter | None = None, trusted_proxies: Sequence[str] = ()
) -> AsyncGenerator[Serving]:
    """Serve the app through a real uvicorn while the block lasts."""
    served = Serving(app, limiter, trusted_proxies)
    await served.start()
    try:
        yield served
    finally:
        await served.stop()
