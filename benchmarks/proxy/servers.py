"""Processes of a comparison: Redis, two replicas and the proxies, each stopped while another one is measured."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Final

from benchmarks.harness.processes import Server, free_port, redis_server
from benchmarks.proxy.load import DRAIN_SECONDS, MAX_EXTENSION, ProxyLoadPlan
from benchmarks.proxy.measurements import ProxyMeasurement
from benchmarks.proxy.peers.definitions import HERE, Peer
from benchmarks.proxy.peers.environment import NotInstalledError, programs_of
from benchmarks.proxy.requests import NUMBER, TRANSLATION

# LiteLLM imports for half a minute on one slow core.
START_SECONDS: Final = 120.0
# After it was stopped a proxy first does what was due meanwhile; so many good responses in a row show that it has.
GOOD_IN_A_ROW: Final = 5
PAUSE_SECONDS: Final = 0.1
REQUEST_SECONDS: Final = 10.0
# For the load's own start and end.
LOAD_SECONDS: Final = 10.0


class NotStartedError(Exception):
    """The proxy gave no good response; the message is the end of its log."""


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
    """Start processes on one core while the block lasts.

    From their first instruction on: some count their cores at start.
    """
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@dataclass(frozen=True)
class Places:
    """Where everything is: the run's folder, the peers' environments, the checkout to compare with, ports."""

    folder: Path
    environments: Path
    before: Path
    redis_port: int
    replica_ports: tuple[int, int]


class ProxyProcess:
    """One peer, started; it is stopped (SIGSTOP) until it is the one that is measured."""

    def __init__(self, peer: Peer, places: Places) -> None:
        """Prepare its folder, configuration and command.

        Raises:
            NotInstalledError: it cannot be had here.
        """
        self.peer = peer
        self.port = places.replica_ports[0]
        self.server: Server | None = None
        if not peer.command:
            return
        programs = programs_of(peer, places.environments)
        folder = places.folder / peer.name
        folder.mkdir()
        self.port = free_port()
        first, second = places.replica_ports
        values = {
            "before": places.before,
            "bin": programs,
            "first": first,
            "folder": folder,
            "port": self.port,
            "python": sys.executable,
            "redis": places.redis_port,
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
    def running(self) -> Generator[None]:
        """Let it run while the block lasts."""
        self._signal(signal.SIGCONT)
        try:
            self._wait_until_good(START_SECONDS)
            yield
        finally:
            self._signal(signal.SIGSTOP)

    def kill(self) -> None:
        """End it, its children too."""
        self._signal(signal.SIGKILL)
        if self.server is not None and self.server.process is not None:
            self.server.process.wait(10)

    def _wait_until_good(self, within: float) -> None:
        """Wait until it gives good responses.

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

    def _is_good(self) -> bool:
        body = self.peer.request.body.replace(NUMBER, "0").encode()
        url = f"http://127.0.0.1:{self.port}{self.peer.request.path}"
        request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=REQUEST_SECONDS) as response:  # noqa: S310 - our own process
                return TRANSLATION.encode() in response.read()
        except (urllib.error.URLError, TimeoutError, ConnectionError):
            return False

    @property
    def _has_ended(self) -> bool:
        return self.server is not None and self.server.process is not None and self.server.process.poll() is not None

    def _signal(self, number: signal.Signals) -> None:
        if self.server is not None and self.server.process is not None and not self._has_ended:
            os.killpg(self.server.pid, number)


class ProxyServers:
    """All processes; use :func:`running_servers`. ``missing``: which peers are not there, and why."""

    def __init__(self, folder: Path, environments: Path, before: Path) -> None:
        self.proxies: list[ProxyProcess] = []
        self.missing: dict[str, str] = {}
        self._cores = Cores.of_this_machine()
        self._places = Places(folder, environments, before, free_port(), (free_port(), free_port()))
        command = [sys.executable, "-m", "benchmarks.proxy.replica", *map(str, self._places.replica_ports)]
        self._others = [redis_server(self._places.redis_port, folder), Server(command, folder / "replicas.log")]

    def start(self, peers: Sequence[Peer]) -> None:
        """Start everything that can be started."""
        with on_core(self._cores.others):
            for server in self._others:
                server.start()
        for peer in peers:
            try:
                proxy = ProxyProcess(peer, self._places)
                self.proxies.append(proxy)
                with on_core(self._cores.proxy):
                    if proxy.server is not None:
                        proxy.server.start()
                with proxy.running():
                    pass
            except (NotInstalledError, NotStartedError) as error:
                self.missing[peer.name] = str(error)
                print(f"{peer.name} is left out: {error}", flush=True)
        self.proxies = [proxy for proxy in self.proxies if proxy.peer.name not in self.missing]

    def stop(self) -> None:
        """End everything."""
        for proxy in self.proxies:
            proxy.kill()
        for server in self._others:
            server.stop()

    def measure(
        self, proxy: ProxyProcess, number: int, connections: int, warm_up: float, seconds: float
    ) -> ProxyMeasurement:
        """Send a load to a running proxy."""
        plan = ProxyLoadPlan(proxy.port, proxy.peer.request, connections, warm_up, seconds, proxy.pid)
        limit = LOAD_SECONDS + warm_up + 2 * MAX_EXTENSION * seconds + DRAIN_SECONDS
        with on_core(self._cores.others):
            done = subprocess.run(
                [sys.executable, "-m", "benchmarks.proxy.load", plan.to_json()],
                stdout=subprocess.PIPE,
                timeout=limit,
                check=True,
            )
        return ProxyMeasurement(peer=proxy.peer.name, round=number, connections=connections, **json.loads(done.stdout))


@contextmanager
def running_servers(folder: Path, environments: Path, before: Path, peers: Sequence[Peer]) -> Generator[ProxyServers]:
    """Start everything; leave no process behind."""
    servers = ProxyServers(folder, environments, before)
    try:
        servers.start(peers)
        yield servers
    finally:
        servers.stop()
