"""Pairway's servers as processes, and small questions to them."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil

from benchmarks.harness.processes import Server, python_server

GET_SECONDS = 30.0


def proxy_server(
    folder: Path,
    port: int,
    replicas: Sequence[str],
    redis_port: int,
    name: str,
    settings: Mapping[str, str] | None = None,
) -> Server:
    """Return a proxy of these replicas' URLs, with the usual settings beside those given."""
    own = {
        "PROXY_PORT": str(port),
        "PROXY_REPLICAS": ",".join(replicas),
        "PROXY_REDIS_URL": f"redis://127.0.0.1:{redis_port}/0",
    }
    return python_server("proxy", folder, {**(settings or {}), **own}, name)


def http_get(url: str, seconds: float = GET_SECONDS) -> bytes:
    """Return the body of a response; raises OSError when there is none, or its status is an error."""
    with urllib.request.urlopen(url, timeout=seconds) as response:  # noqa: S310 - our own server
        return response.read()


def ready_replicas(proxy_url: str, pair: str) -> int:
    """Return how many replicas the proxy knows to be ready for a pair; 0 when it does not answer."""
    try:
        health: dict[str, Any] = json.loads(http_get(f"{proxy_url}/health", 3.0))
    except OSError:
        return 0
    return health["pairs"].get(pair, {}).get("ready", 0)


def cpu_seconds(process: psutil.Process) -> float:
    """Return the CPU seconds of a process so far."""
    times = process.cpu_times()
    return times.user + times.system
