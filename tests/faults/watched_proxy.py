"""A real proxy process that reports how many tasks its event loop has: ``python -m tests.faults.watched_proxy CONTROL_PORT``."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from proxy.app import create_app
from proxy.settings import ProxySettings
from tests.faults.control import controlled
from tests.faults.launch import launch


def _state(_: dict[str, Any]) -> dict[str, Any]:
    return {"tasks": len(asyncio.all_tasks())}


def main() -> int:
    settings = ProxySettings()
    app = create_app(settings)
    return launch(
        app,
        port=settings.port,
        grace_seconds=settings.request_timeout,
        drain=app.state.draining.set,
        drain_seconds=settings.drain_seconds,
        beside=controlled(int(sys.argv[1]), _state),
    )


if __name__ == "__main__":
    sys.exit(main())
