"""The processes of a comparison: Redis, two replicas and the proxies, which stand still while another one is measured."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from string import Template
from typing import TYPE_CHECKING, Final

from benchmarks.proxy.load import DRAIN_SECONDS, MOST_TIMES, Plan
from benchmarks.proxy.measurements import Found
from benchmarks.proxy.peers.definitions import HERE
from benchmarks.proxy.peers.environment import NotInstalledError, programs_of
from benchmarks.proxy.requests import NUMBER, TRANSLATION
from tests.processes import Server, free_port, redis_server

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from pathlib import Path

    from benchmarks.proxy.peers.definitions import Peer

# LiteLLM imports for half a minute on one slow core.
START_SECONDS: Final = 120.0
# After it stood still a proxy first does what was due meanwhile; so many good answers in a row show that it has.
GOOD_IN_A_ROW: Final = 5
PAUSE_SECONDS: Final = 0.1
ASK_SECONDS: Final = 10.0
# For the load's own start and end.
LOAD_SECONDS: Final = 10.0


class NotStartedError(Exception):
    """The proxy gave no good answer; the message says what its log ends with."""


@dataclass(frozen=True)
class Cores:
    """One for the proxy that is measured, another for everything else."""

    proxy: int
    others: int

    @classmethod
    def of_this_machine(cls) -> Cores:
        """Take the first two that this process may use."""
        cores = sorted(os.sched_getaffinity(0))
        if len(cores) < 2:
            raise SystemExit("bench-proxy: the proxy and the load each need a core of their own; there is only one")
        return cls(cores[0], cores[1])


@contextmanager
def on_core(core: int) -> Generator[None]:
    """Have what is started in the block run on one core from its first instruction: some count their cores at start."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


class Proxy:
    """One peer, started; it stands still until it is the one that is measured."""

    def __init__(self, peer: Peer, stage: Stage, environments: Path) -> None:
        """Make what it needs.

        Raises:
            NotInstalledError: it can not be had here.
        """
        self.peer = peer
        self.port = stage.replica_ports[0]
        self.server: Server | None = None
        if not peer.command:
            return
        programs = programs_of(peer, environments)
        folder = stage.folder / peer.name
        folder.mkdir()
        self.port = free_port()
        first, second = stage.replica_ports
        values = {
            "bin": programs,
            "first": first,
            "folder": folder,
            "port": self.port,
            "python": sys.executable,
            "redis": stage.redis_port,
            "second": second,
            "spare": free_port(),
        }
        if peer.config:
            (folder / peer.config).write_text(Template((HERE / peer.config).read_text()).substitute(values))
        # Split first: a folder's name may hold a space.
        command = [Template(word).substitute(values) for word in shlex.split(peer.command)]
        variables = {name: Template(value).substitute(values) for name, value in peer.variables.items()}
        self.server = Server(command, folder / "log", variables)

    @property
    def pid(self) -> int:
        """The process that was started; 0 where there is no proxy."""
        return 0 if self.server is None else self.server.pid

    @contextmanager
    def going(self) -> Generator[None]:
        """Let it run while the block lasts."""
        self._signal(signal.SIGCONT)
        try:
            self.until_good(START_SECONDS)
            yield
        finally:
            self._signal(signal.SIGSTOP)

    def until_good(self, within: float) -> None:
        """Wait until it gives good answers.

        Raises:
            NotStartedError: it gave none in time, or ended.
        """
        until, in_a_row = time.monotonic() + within, 0
        while in_a_row < GOOD_IN_A_ROW:
            if self._is_good():
                in_a_row += 1
                continue
            if time.monotonic() > until or self._has_ended:
                raise NotStartedError(self.server.tail(5) if self.server else "the replicas do not answer")
            in_a_row = 0
            time.sleep(PAUSE_SECONDS)

    def kill(self) -> None:
        """End it, its children too."""
        self._signal(signal.SIGKILL)
        if self.server is not None and self.server.process is not None:
            self.server.process.wait(10)

    def _is_good(self) -> bool:
        wire = self.peer.wire
        body = wire.body.replace(NUMBER, "0").encode()
        url = f"http://127.0.0.1:{self.port}{wire.path}"
        request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=ASK_SECONDS) as answer:  # noqa: S310 - our own process
                return TRANSLATION.encode() in answer.read()
        except (urllib.error.URLError, TimeoutError, ConnectionError):
            return False

    @property
    def _has_ended(self) -> bool:
        return self.server is not None and self.server.process is not None and self.server.process.poll() is not None

    def _signal(self, number: signal.Signals) -> None:
        if self.server is not None and self.server.process is not None and not self._has_ended:
            os.killpg(self.server.pid, number)


class Stage:
    """All processes; use :func:`staged`."""

    def __init__(self, folder: Path, cores: Cores) -> None:
        """Take the folder for logs, and where everything runs."""
        self.folder = folder
        self.cores = cores
        self.redis_port = free_port()
        self.replica_ports = (free_port(), free_port())
        self.proxies: list[Proxy] = []
        command = [sys.executable, "-m", "benchmarks.proxy.replica", *map(str, self.replica_ports)]
        self._others = [redis_server(self.redis_port, folder), Server(command, folder / "replicas.log")]

    def start(self, peers: Sequence[Peer], environments: Path) -> dict[str, str]:
        """Start everything; return which peers are not there, and why."""
        missing: dict[str, str] = {}
        with on_core(self.cores.others):
            for server in self._others:
                server.start()
        for peer in peers:
            try:
                proxy = Proxy(peer, self, environments)
                self.proxies.append(proxy)
                with on_core(self.cores.proxy):
                    if proxy.server is not None:
                        proxy.server.start()
                with proxy.going():
                    pass
            except (NotInstalledError, NotStartedError) as error:
                missing[peer.name] = str(error)
                print(f"{peer.name} is left out: {error}", flush=True)
        self.proxies = [proxy for proxy in self.proxies if proxy.peer.name not in missing]
        return missing

    def stop(self) -> None:
        """End everything."""
        for proxy in self.proxies:
            proxy.kill()
        for server in self._others:
            server.stop()

    def measure(self, proxy: Proxy, number: int, connections: int, warm_up: float, seconds: float) -> Found:
        """Send a load at a proxy that is going; return what was found."""
        plan = Plan(proxy.port, proxy.peer.wire, connections, warm_up, seconds, proxy.pid)
        limit = LOAD_SECONDS + warm_up + 2 * MOST_TIMES * seconds + DRAIN_SECONDS
        with on_core(self.cores.others):
            done = subprocess.run(
                [sys.executable, "-m", "benchmarks.proxy.load", plan.as_json()],
                stdout=subprocess.PIPE,
                timeout=limit,
                check=True,
            )
        return Found(peer=proxy.peer.name, round=number, connections=connections, **json.loads(done.stdout))


@contextmanager
def staged(folder: Path, peers: Sequence[Peer], environments: Path) -> Generator[tuple[Stage, dict[str, str]]]:
    """Start everything while the block lasts; also say which peers are not there, and why."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    stage = Stage(folder, Cores.of_this_machine())
    try:
        yield stage, stage.start(peers, environments)
    finally:
        stage.stop()
