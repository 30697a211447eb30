"""The server under both apps: uvicorn with our bounds, leaving politely."""

from __future__ import annotations

import asyncio
import logging
import math
from typing import TYPE_CHECKING, Final

import uvicorn
from typing_extensions import override

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from fastapi import FastAPI

log = logging.getLogger(__name__)

# Idle connections are kept longer than any pool of ours keeps them (proxy/client.py: 30 s), so that the client
# end closes first and no request is sent into a closing socket.
KEEP_ALIVE_SECONDS: Final = 75


class DrainingServer(uvicorn.Server):
    """Leaves politely: a signal flips the app to draining, the socket stays open for ``drain_seconds``, then closes.

    uvicorn closes its sockets before the lifespan ends, so draining can not live there. A second signal skips the
    wait. ``drain_seconds`` should be longer than a probe interval plus its time-out, so that nobody still routes here.
    """

    def __init__(self, config: uvicorn.Config, *, drain: Callable[[], None], drain_seconds: float) -> None:
        """Take the callback that makes readiness fail."""
        super().__init__(config)
        self._drain = drain
        self._drain_seconds = drain_seconds
        self._draining = False

    @override
    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to drain; at the second signal, or with nothing to wait for, stop."""
        first, self._draining = not self._draining, True
        self._drain()
        if not first or not self.started or self._drain_seconds <= 0:
            super().handle_exit(sig, frame)
            return
        log.info("draining", extra={"seconds": self._drain_seconds})
        # A signal handler may interrupt the loop anywhere; only this call of the loop's is safe from here.
        loop = asyncio.get_running_loop()
        loop.call_soon_threadsafe(loop.call_later, self._drain_seconds, self._drained, sig, frame)

    def _drained(self, sig: int, frame: FrameType | None) -> None:
        """Stop, unless a second signal has: uvicorn takes one more for the order to drop what is in flight."""
        if not self.should_exit:
            super().handle_exit(sig, frame)


def server_config(app: FastAPI, *, host: str, port: int, grace_seconds: float) -> uvicorn.Config:
    """Return uvicorn's settings for both servers; in-flight requests get ``grace_seconds`` after the socket closed."""
    return uvicorn.Config(
        app,
        host=host,
        port=port,
        loop="uvloop",
        http="httptools",
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=math.ceil(grace_seconds),
    )
