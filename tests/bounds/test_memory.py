"""What callers send leaves nothing behind: places stay within their bounds, and memory where it was."""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.apiserver.conftest import CATALOG
from tests.bounds.fresh_requests import send_all
from tests.conftest import PREFIX, RedisServer
from tests.support.fake_replica import FakeReplica, Script, replicas
from tests.support.processes import ROOT

MIB = 1024 * 1024
# 40 bytes for each of its ten values.
MAX_GROWTH_PER_REQUEST = 400
# What the first requests leave for ever: compiled code, pools of memory, full caches.
WARM_UP = 2_000
PROXY_REQUESTS = 4_000
KEYED_REQUESTS = 3_000
APISERVER_REQUESTS = 4_000
FAILED_REQUESTS = 3_000
FAILURES = (
    Script(),
    Script(problem=(503, "overloaded"), retry_after=1),
    Script(fault="reset"),
    Script(raw=(500, b"x")),
    Script(problem=(422, "invalid-request")),
    Script(raw=(200, b"{}")),
    Script(breaks_after=1, breaks_with="error"),
    Script(breaks_after=1, breaks_with="end"),
)


class ServerProcess:
    """A server in a process of its own."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.port = 0

    async def ask(self, command: str = "") -> Any:
        """Return the answer to a command."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        if command:
            self._process.stdin.write(f"{command}\n".encode())
        line = await self._process.stdout.readline()
        assert line, "the server has ended"
        return json.loads(line)


@asynccontextmanager
async def server_process(server: str, folder: Path, **settings: Any) -> AsyncGenerator[ServerProcess]:
    """Run a server with these settings while the block lasts."""
    command = (sys.executable, "-m", "tests.bounds.server_process", server, json.dumps(settings))
    with (folder / f"{server}.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdin=-1, stdout=-1, stderr=log, limit=MIB)
        running = ServerProcess(process)
        try:
            running.port = await running.ask()
            yield running
        finally:
            assert process.stdin is not None
            process.stdin.close()
            try:
                await asyncio.wait_for(process.wait(), 30)
            except TimeoutError:
                process.kill()
                await process.wait()


async def check(server: ServerProcess, requests: int, expected: set[int], bearer: str = "w", accept: str = "") -> None:
    """Fill each place, then send requests, and look whether memory grows."""

    filled: dict[str, tuple[int | None, int]] = await server.ask("fill")
    assert {name: size for name, (size, bound) in filled.items() if size is not None and size > bound} == {}
    assert [name for name, (size, bound) in filled.items() if size is not None and size < bound // 2] == []
    routes = [(method, path) for method, path in await server.ask("routes")]
    await send_all(server.port, routes, range(WARM_UP), bearer, accept)
    await server.ask("growth")
    before = await server.ask("memory")
    statuses = await send_all(server.port, routes, range(WARM_UP, WARM_UP + requests), bearer, accept)
    after, grown = await server.ask("memory"), await server.ask("growth")
    assert expected <= statuses.keys(), statuses
    assert not statuses.get(500), statuses
    assert statuses.get(0, 0) <= requests // 100, statuses
    assert after - before <= MAX_GROWTH_PER_REQUEST * requests, grown


@pytest.mark.no_cover
@pytest.mark.parametrize(
    ("keys", "requests", "expected"),
    [("off", PROXY_REQUESTS, {200, 201, 400, 404, 422}), ("on", KEYED_REQUESTS, {401, 403})],
)
async def test_proxy_keeps_nothing_of_its_callers(
    keys: str, requests: int, expected: set[int], tmp_path: Path, redis: RedisServer
) -> None:
    one = FakeReplica("en>de", "de>en", "en>fr")
    settings = {"redis_url": redis.url, "redis_prefix": PREFIX, "cache_bytes": MIB, "trusted_proxies": "127.0.0.1"}
    async with replicas(one):
        one.requests = Forgetful()
        async with server_process("proxy", tmp_path, replicas=one.url, keys=keys, **settings) as server:
            await check(server, requests, expected, "pw_" if keys == "on" else "w")


class Forgetful(list[Any]):
    """A list that stays empty."""

    def append(self, _: object) -> None:
        """Keep nothing."""


async def _fail(fakes: Sequence[FakeReplica]) -> None:
    """Let replicas fail in each way, in turn."""
    for number in itertools.count():
        for fake in fakes:
            fake.translate = FAILURES[number % len(FAILURES)]
        await asyncio.sleep(0.1)


@pytest.mark.no_cover
async def test_proxy_keeps_nothing_of_failed_requests(tmp_path: Path, redis: RedisServer) -> None:
    """What retries, hedges, breakers and streams note of requests."""
    fakes = [FakeReplica("en>de", "de>en", "en>fr", name=name) for name in ("one", "two")]
    settings = {"redis_url": redis.url, "redis_prefix": PREFIX, "cache_bytes": MIB, "request_timeout": 2.0}
    async with replicas(*fakes):
        for fake in fakes:
            fake.requests = Forgetful()
        urls = ",".join(fake.url for fake in fakes)
        async with server_process("proxy", tmp_path, replicas=urls, keys="off", **settings) as server:
            failing = asyncio.create_task(_fail(fakes))
            try:
                await check(server, FAILED_REQUESTS, {200, 502}, accept="text/event-stream, */*")
            finally:
                failing.cancel()
                await asyncio.gather(failing, return_exceptions=True)


@pytest.mark.no_cover
async def test_apiserver_keeps_nothing_of_its_callers(tmp_path: Path) -> None:
    catalog = tmp_path / "models.yaml"
    catalog.write_text(CATALOG)
    async with server_process("apiserver", tmp_path, catalog=str(catalog), drain_seconds=0.0) as server:
        await check(server, APISERVER_REQUESTS, {200, 404, 422})
