"""Processes of a comparison: Redis, two replicas and the proxies, each stopped while another one is measured."""

from __future__ import annotations

import os
import shlex
import signal
import sys
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing, contextmanager, suppress
from pathlib import Path
from string import Template
from typing import Final

from benchmarks.harness.http_client import HttpClient
from benchmarks.harness.http_load import TEXT, LoadPlan, LoadProcess
from benchmarks.harness.load import LoadResult, Stream, Timing
from benchmarks.harness.processes import Server, free_port, free_ports, redis_server, running
from benchmarks.harness.replicas import TRANSLATION, SimulatedFleet
from benchmarks.harness.texts import TextSource
from benchmarks.harness.waiting import wait_until
from benchmarks.proxy.peers.definitions import HERE, Peer, PeerMissingError

# LiteLLM imports for half a minute on one slow core.
START_SECONDS: Final = 120.0
# After it was stopped a proxy first does what was due meanwhile; so many good responses in a row show that it has.
GOOD_IN_A_ROW: Final = 5
REQUEST_SECONDS: Final = 10.0
# Where a proxy is slow, the time that counts is longer: until there are so many responses, at most so many times as long.
MIN_RESPONSES: Final = 50
MAX_EXTENSION: Final = 4
# Each text is another one, for equal ones in flight would be shared; all are equally long.
TEXTS: Final = TextSource(template="Where is the station, please, {}?", expected=TRANSLATION, offset=1_000_000_000)


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
    """One peer; it is stopped (SIGSTOP) until it is the one that is measured."""

    def __init__(self, peer: Peer, folder: Path, programs: Path, places: Mapping[str, object]) -> None:
        self.peer = peer
        self._folder = folder
        own = folder / peer.name
        own.mkdir()
        port = free_port() if peer.command else places["first"]
        self._url = f"http://127.0.0.1:{port}{peer.path}"
        values = {
            **places,
            "port": port,
            "spare": free_port(),
            "python": sys.executable,
            "bin": programs,
            "folder": own,
        }

        def filled(text: str) -> str:
            return Template(text).substitute(values)

        if peer.config:
            (own / peer.config).write_text(filled((HERE / peer.config).read_text()))
        # Split first: a folder's name may hold a space.
        command = list(map(filled, shlex.split(peer.command)))
        variables = {name: filled(value) for name, value in peer.variables.items()}
        self._server = Server(command, own / "log", variables) if command else None

    async def start(self) -> None:
        """Start it, and stop it again when it gave good responses.

        Raises:
            PeerMissingError: it gave none.
        """
        if self._server is not None:
            self._server.start()
        async with self.running():
            pass

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Let it run while the block lasts."""
        self._signal(signal.SIGCONT)
        try:
            with suppress(AssertionError):
                await wait_until(lambda: self._has_ended() or self._is_good(), START_SECONDS)
            if not await self._is_good():
                raise PeerMissingError(self._server.tail(5) if self._server else "the replicas do not answer")
            yield
        finally:
            self._signal(signal.SIGSTOP)

    async def measure(self, number: int, concurrency: int, warm_up: float, seconds: float) -> LoadResult:
        """Send a load to it while it runs; ``number`` is that of the round."""
        timing = Timing(seconds, warm_up, min_responses=MIN_RESPONSES, extension=(MAX_EXTENSION - 1) * seconds)
        pid, streams = self._server.pid if self._server else 0, [Stream("load", concurrency=concurrency)]
        plan = LoadPlan(self._url, streams, TEXTS, timing, body=self.peer.body, pid=pid)
        return await LoadProcess(plan, self._folder, f"load-{self.peer.name}-{number}-{concurrency}").run()

    def kill(self) -> None:
        """End it, its children too."""
        self._signal(signal.SIGKILL)
        if self._server is not None:
            self._server.stop()

    def _has_ended(self) -> bool:
        return self._server is not None and self._server.has_ended

    async def _is_good(self) -> bool:
        body = self.peer.body.replace(TEXT, '"Where is the station?"').encode()
        with closing(HttpClient(self._url, timeout=REQUEST_SECONDS)) as client, suppress(OSError):
            responses = [await client.post(body) for _ in range(GOOD_IN_A_ROW)]
            return all(TRANSLATION.encode() in response.body for response in responses)
        return False

    def _signal(self, number: signal.Signals) -> None:
        if self._server is not None and self._server.process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._server.pid, number)


@asynccontextmanager
async def running_proxies(
    peers: Sequence[Peer], folder: Path, environments: Path, before: Path, missing: dict[str, str]
) -> AsyncGenerator[list[ProxyProcess]]:
    """Start everything that can be started, on its core; ``missing`` is given the reasons of the others."""
    proxy_core, other_core = cores()
    redis_port, first = free_port(), free_ports(2)
    places = {"redis": redis_port, "first": first, "second": first + 1, "before": before}
    others = [redis_server(redis_port, folder), SimulatedFleet(first, 2).server(folder)]
    async with AsyncExitStack() as stack:
        stack.enter_context(on_core(other_core))  # the load, too, is started in the block
        await stack.enter_async_context(running(others, lambda: True, START_SECONDS))
        proxies: list[ProxyProcess] = []
        for peer in peers:
            try:
                proxy = ProxyProcess(peer, folder, peer.programs(environments), places)
                stack.callback(proxy.kill)
                with on_core(proxy_core):
                    await proxy.start()
                proxies.append(proxy)
            except PeerMissingError as error:
                missing[peer.name] = str(error)
                print(f"{peer.name} is left out: {error}", flush=True)
        yield proxies
