"""E's API server: Pairway's own, told to note what its engine does; ``python -m benchmarks.origin.pairway_server``.

Everything but the notes is what ``python -m apiserver`` does, with the same settings.
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any

from apiserver.app import create_app
from apiserver.engine import ENVIRONMENT, VllmEngine
from apiserver.settings import Settings
from benchmarks.origin.record import Record, step_logger
from shared import server
from shared.bounds import Room
from shared.program import leave_on_signals
from shared.telemetry import configure_logging

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

    from apiserver.catalog import ModelEntry
    from apiserver.generation import Ask, Generation
    from apiserver.progress import StepCounter


def noting(record: Record) -> type[VllmEngine]:
    """Return the engine that notes its requests and steps."""

    class NotingEngine(VllmEngine):
        def __init__(self, entry: ModelEntry, llm: Any, registry: CollectorRegistry, steps: StepCounter) -> None:
            super().__init__(entry, llm, registry, steps)
            llm.logger_manager.stat_loggers.append(step_logger(record)())

        async def generate(self, ask: Ask, request_id: str) -> Generation:
            """Generate and note it."""
            with record.request():
                return await super().generate(ask, request_id)

    return NotingEngine


def main() -> None:
    """Serve until told to stop."""
    leave_on_signals()
    settings = Settings()
    configure_logging(settings.log_level, settings.log_format)
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    record = Record()
    app = create_app(settings, partial(noting(record).start, alone=True))
    app.add_api_route("/record", record.taken, methods=["GET"])
    room = Room(server.open_files_for(settings.max_connections))
    grace = settings.max_request_timeout
    config = server.server_config(app, host=settings.host, port=settings.port, grace_seconds=grace, room=room)
    drain = app.state.parts.replica.drain
    server.DrainingServer(config, drain=drain, drain_seconds=settings.drain_seconds).run()


if __name__ == "__main__":
    main()
