"""Server of both apps, which drains before it stops."""

from __future__ import annotations

import asyncio
import logging
import math
import resource
import socket
from collections.abc import Callable, Sequence
from functools import partial
from types import FrameType
from typing import Any, Final

import uvicorn
from starlette.types import ASGIApp
from typing_extensions import override

from shared.server.connection import Connection
from shared.server.limits import ConnectionLimiter

log = logging.getLogger(__name__)

# Longer than the proxy keeps idle connections (30 s), so that it closes first and sends no request into a closing socket.
KEEP_ALIVE_TIMEOUT_SECONDS: Final = 75
# Clients' share of the allowed open files; the rest is for replicas, Redis, engines and logs.
CLIENT_FILES_SHARE: Final = 0.75


class DrainingServer(uvicorn.Server):
    """uvicorn server that drains before it stops.

    After a signal the socket stays open for ``drain_seconds``, or until a second signal. The lifespan's end is too
    late for draining: uvicorn closes its sockets before. ``drain_seconds`` should exceed a probe's interval and timeout
    together, so that no proxy still sends requests. ``second`` configures another socket.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        *,
        drain: Callable[[], None],
        drain_seconds: float,
        second: uvicorn.Config | None = None,
    ) -> None:
        super().__init__(config)
        self._drain = drain
        self._drain_seconds = drain_seconds
        self._draining = False
        if second is not None:
            second.lifespan = "off"  # both use the first one's
        self._second = None if second is None else uvicorn.Server(second)
        self.failed = False

    @override
    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        first, self._draining = not self._draining, True
        self._drain()
        if not first or not self.started or self._drain_seconds <= 0:
            super().handle_exit(sig, frame)
            return
        log.info("draining", extra={"seconds": self._drain_seconds})
        # In a signal handler only this method of the loop is safe.
        loop = asyncio.get_running_loop()
        loop.call_soon_threadsafe(loop.call_later, self._drain_seconds, self._drained, sig, frame)

    def _drained(self, sig: int, frame: FrameType | None) -> None:
        """Stop, unless already stopping: a second exit drops requests in flight."""
        if not self.should_exit:
            super().handle_exit(sig, frame)

    @override
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Open the second socket after the first, whose lifespan creates shared parts."""
        await super().startup(sockets)
        if self._second is None:
            return
        self._second.config.load()
        self._second.lifespan = self._second.config.lifespan_class(self._second.config)
        try:
            await self._second.startup()
        except SystemExit:  # the address is in use; the first socket must still close cleanly
            self.failed = self.should_exit = True

    @override
    async def on_tick(self, counter: int) -> bool:
        if self._second is not None:
            await self._second.on_tick(counter)
        return await super().on_tick(counter)

    @override
    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close the second socket before the first, whose lifespan ends shared parts."""
        if self._second is not None and self._second.started:
            self._second.force_exit = self.force_exit
            await self._second.shutdown()
        await super().shutdown(sockets)


def server_config(
    app: ASGIApp,
    *,
    host: str,
    port: int,
    grace_seconds: float,
    limiter: ConnectionLimiter,
    trusted_proxies: Sequence[str] = (),
) -> uvicorn.Config:
    """Return uvicorn's configuration.

    Requests in flight get ``grace_seconds`` after the socket closed. ``X-Forwarded-For`` and
    ``-Proto`` of ``trusted_proxies`` (addresses and networks) are trusted.
    """
    # uvicorn's annotation allows only classes.
    protocol: Any = partial(Connection, limiter=limiter)
    return uvicorn.Config(
        app,
        host=host,
        port=port,
        loop="uvloop",
        http=protocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        # Otherwise uvicorn uses FORWARDED_ALLOW_IPS, and trusts loopback.
        proxy_headers=bool(trusted_proxies),
        forwarded_allow_ips=list(trusted_proxies),
        timeout_keep_alive=KEEP_ALIVE_TIMEOUT_SECONDS,
        timeout_graceful_shutdown=math.ceil(grace_seconds),
    )


def raise_open_files_limit(connections: int) -> int:
    """Raise the open files limit as needed; return the connections it allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = math.ceil(connections / CLIENT_FILES_SHARE)
    if soft != resource.RLIM_INFINITY and soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    allowed = connections if soft == resource.RLIM_INFINITY else min(connections, int(soft * CLIENT_FILES_SHARE))
    log.info("connections bounded", extra={"connections": allowed, "wanted": connections, "open_files": soft})
    return allowed
