"""Program: an API server whose engine answers nothing between two signals SIGUSR1. Arguments: port, catalog."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
from pathlib import Path

from apiserver.app import create_app
from apiserver.catalog.model_entry import ModelEntry
from apiserver.engine.interface import GenerationRequest, GenerationResult
from apiserver.settings import ApiServerSettings
from shared.server.draining_server import DrainingServer, server_config
from shared.server.limits import ConnectionLimiter
from tests.support.scripted_engine import ScriptedEngine

PORT, CATALOG = int(sys.argv[1]), Path(sys.argv[2])


class GatedEngine(ScriptedEngine):
    """An engine that keeps nothing of what it was asked."""

    async def generate(self, request: GenerationRequest, request_id: str) -> GenerationResult:
        """Answer once the gate is open."""
        try:
            return await super().generate(request, request_id)
        finally:
            self.asked.clear()


async def serve() -> None:
    """Serve until a signal."""
    engines: list[GatedEngine] = []

    async def start(entry: ModelEntry) -> GatedEngine:
        engines.append(GatedEngine(entry))
        return engines[-1]

    def turn_gate() -> None:
        for engine in engines:
            (engine.gate.clear if engine.gate.is_set() else engine.gate.set)()

    times = {
        "stall_seconds": 600,
        "canary_timeout": 600,
        "request_timeout": 600,
        "queue_seconds": 600,
        "drain_seconds": 0,
    }
    settings = ApiServerSettings.model_validate({"catalog": CATALOG, "port": PORT, "max_waiting": 100_000, **times})
    app = create_app(settings, start)
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, turn_gate)
    config = server_config(app, host="127.0.0.1", port=PORT, grace_seconds=5, limiter=ConnectionLimiter())
    config.loop = "none"
    server = DrainingServer(config, drain=app.state.context.model_server.drain, drain_seconds=0)
    with socket.create_server(("127.0.0.1", PORT)) as listener:
        await server.serve([listener])


asyncio.run(serve())
