"""A real server with a probe on its loop: ``python -m tests.hostile.launch proxy|apiserver|replica ARGUMENT``.

The argument is the probe's file; for the fake replica, which has no probe, its port and its pairs, comma-separated.
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from pathlib import Path

import uvloop

from apiserver.app import create_app as create_apiserver
from apiserver.settings import ApiServerSettings
from proxy.app import create_app as create_proxy
from proxy.settings import ProxySettings
from shared.runtime.gc_tuning import freeze_loaded_objects
from tests.faults.launch import launch
from tests.hostile import echo_engine
from tests.hostile.probe import probed
from tests.support.fake_replica import FakeReplica


def _proxy(figures: Path) -> int:
    settings = ProxySettings()
    app = create_proxy(settings)
    return launch(
        app,
        port=settings.port,
        grace_seconds=1,
        drain=app.state.draining.set,
        drain_seconds=settings.drain_seconds,
        beside=probed(figures),
    )


def _apiserver(figures: Path) -> int:
    settings = ApiServerSettings()
    app = create_apiserver(settings, echo_engine.start)
    # As after the start of vLLM's engine: else idle collections walk all that was imported.
    freeze_loaded_objects()
    return launch(
        app,
        port=settings.port,
        grace_seconds=1,
        drain=app.state.context.model_server.drain,
        drain_seconds=settings.drain_seconds,
        beside=probed(figures),
    )


async def _serve_replica(port: int, pairs: list[str]) -> None:
    fake = FakeReplica(*pairs)
    fake.port = port
    fake.requests = deque(maxlen=1)  # pyright: ignore[reportAttributeAccessIssue] - a list would grow with every text
    await fake.start()
    await asyncio.Future()


def main() -> int:
    """Serve until ended."""
    match sys.argv[1:]:
        case ["proxy", path]:
            return _proxy(Path(path))
        case ["apiserver", path]:
            return _apiserver(Path(path))
        case ["replica", port, pairs]:
            uvloop.run(_serve_replica(int(port), pairs.split(",")))
        case _:
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
