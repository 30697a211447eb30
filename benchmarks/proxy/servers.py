"""Processes of a comparison: Redis, two replicas and the proxies, each stopped while another one is measured."""

from __future__ import annotations

import os
import shlex
import signal
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Final

from benchmarks.harness.http_load import TEXT, LoadPlan, LoadProcess
from benchmarks.harness.load import LoadResult, Stream, Timing
from benchmarks.harness.processes import Server, free_port, redis_server
from benchmarks.harness.replicas import TRANSLATION, SimulatedFleet
from benchmarks.harness.texts import TextSource
from benchmarks.proxy.peers.definitions import HERE, NotInstalledError, Peer

# LiteLLM imports for half a minute on one slow core.
START_SECONDS: Final = 120.0
# After it was stopped a proxy first does what was due meanwhile; so many good responses in a row show that it has.
GOOD_IN_A_ROW: Final = 5
PAUSE_SECONDS: Final = 0.1
REQUEST_SECONDS: Final = 10.0
# Where a proxy is slow, the time that counts is longer: until there are so many responses, at most so many times as long.
MIN_RESPONSES: Final = 50
MAX_EXTENSION: Final = 4
# Each text is another one, for equal ones in flight would be shared; all are equally long.
TEXTS: Final = TextSource(template="Where is the station, please, {}?", expected=TRANSLATION, offset=1_000_000_000)


class NotStartedError(Exception):
    """The proxy gave no good response; the message is the end of its log."""


@dataclass(frozen=True)
class Places:
    """Where everything is: the run's folder, the peers' environments, the checkout to compare with, ports."""

    folder: Path
    environments: Path
    before: Path
    redis_port: int
    replica_ports: tuple[int, int]


def cores() -> tuple[int, int]:
    """Return the core of the proxy that is measured, and that of everything else."""
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < 2:
        raise SystemExit("bench-proxy: the proxy and the load each need a core of their own; there is only one")
    return allowed[0], allowed[1]


@contextmanager
def on_core(core: int) -> Generator[None]:
    """Start processes on one core while the block lasts, from their first instruction on: some count cores at start."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


class ProxyProcess:
    """One peer, started; it is stopped (SIGSTOP) until it is the one that is measured."""

    def __init__(self, peer: Peer, places: Places) -> None:
        """Prepare its folder, configuration and command.

        Raises:
            NotInstalledError: it cannot be had here.
        """
        self.peer = peer
        self._folder = places.folder
        programs, folder = peer.programs(places.environments), places.folder / peer.name
        folder.mkdir()
        first, second = places.replica_ports
        port = free_port() if peer.command else first
        self._url = f"http://127.0.0.1:{port}{peer.path}"
        values = {"before": places.before, "bin": programs, "folder": folder, "python": sys.executable}
        values |= {"port": port, "spare": free_port(), "first": first, "second": second, "redis": places.redis_port}
        if peer.config:
            (folder / peer.config).write_text(Template((HERE / peer.config).read_text()).substitute(values))
        # Split first: a folder's name may hold a space.
        command = [Template(word).substitute(values) for word in shlex.split(peer.command)]
        variables = {name: Template(value).substitute(values) for name, value in peer.variables.items()}
        self._server = Server(command, folder / "log", variables) if command else None

    def start(self) -> None:
        """Start it, and stop it again when it gave good responses.

        Raises:
            NotStartedError: it gave none.
        """
        if self._server is not None:
            self._server.start()
        with self.running():
            pass

    @contextmanager
    def running(self) -> Generator[None]:
        """Let it run while the block lasts."""
        self._signal(signal.SIGCONT)
        try:
            self._wait_until_good()
            yield
        finally:
            self._signal(signal.SIGSTOP)

    async def measure(self, number: int, concurrency: int, warm_up: float, seconds: float) -> LoadResult:
        """Send a load to it while it runs; ``number`` is that of the round."""
        name = f"load-{self.peer.name}-{number}-{concurrency}"
        timing = Timing(seconds, warm_up, min_responses=MIN_RESPONSES, extension=(MAX_EXTENSION - 1) * seconds)
        pid = 0 if self._server is None else self._server.pid
        out, streams = str(self._folder / f"{name}.json"), [Stream("load", concurrency=concurrency)]
        plan = LoadPlan(self._url, out, streams, TEXTS, timing, body=self.peer.body, pid=pid)
        return await LoadProcess(plan, self._folder, name).run()

    def kill(self) -> None:
        """End it, its children too."""
        self._signal(signal.SIGKILL)
        if self._server is not None:
            self._server.stop()

    def _wait_until_good(self) -> None:
        until, in_a_row = time.monotonic() + START_SECONDS, 0
        while in_a_row < GOOD_IN_A_ROW:
            if self._is_good():
                in_a_row += 1
                continue
            if time.monotonic() > until or (self._server is not None and self._server.has_ended):
                raise NotStartedError(self._server.tail(5) if self._server else "the replicas do not answer")
            in_a_row = 0
            time.sleep(PAUSE_SECONDS)

    def _is_good(self) -> bool:
        body = self.peer.body.replace(TEXT, '"Where is the station?"').encode()
        request = urllib.request.Request(self._url, body, {"Content-Type": "application/json"})  # noqa: S310 - our own process
        try:
            with urllib.request.urlopen(request, timeout=REQUEST_SECONDS) as response:  # noqa: S310 - our own process
                return TRANSLATION.encode() in response.read()
        except (urllib.error.URLError, TimeoutError, ConnectionError):
            return False

    def _signal(self, number: signal.Signals) -> None:
        if self._server is not None and self._server.process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._server.pid, number)


@contextmanager
def running_proxies(places: Places, peers: Sequence[Peer], missing: dict[str, str]) -> Generator[list[ProxyProcess]]:
    """Start everything that can be started, on its core; leave no process behind.

    ``missing`` is given the reasons of the others.
    """
    proxy_core, other_core = cores()
    fleet = SimulatedFleet(places.replica_ports, 2)
    others = [redis_server(places.redis_port, places.folder), fleet.server(places.folder)]
    proxies: list[ProxyProcess] = []

    def start(peer: Peer) -> None:
        try:
            proxies.append(ProxyProcess(peer, places))
            with on_core(proxy_core):
                proxies[-1].start()
        except (NotInstalledError, NotStartedError) as error:
            missing[peer.name] = str(error)
            print(f"{peer.name} is left out: {error}", flush=True)

    with on_core(other_core):  # the load, too, is started in the block
        try:
            for server in others:
                server.start()
            for peer in peers:
                start(peer)
            yield [proxy for proxy in proxies if proxy.peer.name not in missing]
        finally:
            for proxy in proxies:
                proxy.kill()
            for server in others:
                server.stop()
