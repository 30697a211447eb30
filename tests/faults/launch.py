"""What ``python -m apiserver`` and ``python -m proxy`` do, with something of a test beside it on the same event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from fastapi import FastAPI

from shared.runtime.exit_codes import exit_on_signals
from shared.runtime.logging import configure_logging
from shared.server.draining_server import DrainingServer, server_config
from shared.server.limits import ConnectionLimiter


def launch(
    app: FastAPI,
    *,
    port: int,
    grace_seconds: float,
    drain: Callable[[], None],
    drain_seconds: float,
    beside: AbstractAsyncContextManager[None],
) -> int:
    """Serve until told to stop; return the exit status."""
    exit_on_signals()
    configure_logging("info", "text")
    config = server_config(app, host="127.0.0.1", port=port, grace_seconds=grace_seconds, limiter=ConnectionLimiter())
    server = DrainingServer(config, drain=drain, drain_seconds=drain_seconds)

    async def serve() -> None:
        async with beside:
            await server.serve()

    with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
        runner.run(serve())
    return 0 if server.started else 1
