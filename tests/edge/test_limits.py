"""The edge's limits of each client, its refusals, and its repeats, with the real nginx."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import httpx
import pytest

from tests.edge.running_edge import Fleet, RunningEdge, running_edge
from tests.support.waiting import wait_until

pytestmark = pytest.mark.edge

NUMBERS = itertools.count()
# Of a client that has its own place and all spare ones.
LARGE_BODIES = 6
HEAD = b"POST /translate HTTP/1.1\r\nHost: edge\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n{"
# So many that each proxy has some.
SMALL_BODIES = 16
SMALL_LIMITS = {"PAIRWAY_EDGE_CLIENT_CONNECTIONS": "2", "PAIRWAY_EDGE_CONNECTIONS": "3"}
BALANCED = {"PAIRWAY_EDGE_BALANCERS": "127.0.0.1,10.0.0.0/8"}


def small_body() -> bytes:
    """Return a request that a proxy joins to no other one."""
    return json.dumps({"text": f"Room {next(NUMBERS)}", "source_lang": "en", "target_lang": "de"}).encode()


def large_body() -> bytes:
    return small_body() + b" " * 100_000


@asynccontextmanager
async def unfinished_bodies(running: RunningEdge, address: str, count: int) -> AsyncGenerator[None]:
    """Hold so many requests whose bodies do not come."""
    opened = [
        await asyncio.open_connection("127.0.0.1", running.edge.port, local_addr=(address, 0)) for _ in range(count)
    ]
    for _, writer in opened:
        writer.write(HEAD)
    try:
        yield
    finally:
        for _, writer in opened:
            writer.transport.abort()


@asynccontextmanager
async def held(running: RunningEdge, *addresses: str) -> AsyncGenerator[None]:
    """Hold a request of each client at the replica, and let them be answered at the end."""
    released = running.fleet.fake.translate.released = asyncio.Event()
    before = len(running.fleet.fake.requests)

    async def ask(address: str) -> int:
        named = {"X-Forwarded-For": address} if ":" in address else {}
        async with running.client("127.0.0.1" if named else address) as client:
            return (await client.post("/translate", content=small_body(), headers=named)).status_code

    tasks = [asyncio.create_task(ask(address)) for address in addresses]
    try:
        await wait_until(lambda: len(running.fleet.fake.requests) == before + len(tasks), 20, "all are at the replica")
        yield
    finally:
        released.set()
        await asyncio.gather(*tasks)
        running.fleet.fake.translate.released = None


async def post(running: RunningEdge, address: str, path: str = "/translate", **headers: str) -> httpx.Response:
    async with running.client(address) as client:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await client.post(path, content=large_body() if path != "/detect" else b"{}", headers=named)


def code_of(answer: httpx.Response) -> tuple[int, dict[str, Any]]:
    return answer.status_code, cast("dict[str, Any]", answer.json())


@pytest.fixture(scope="module")
async def running(fleet: Fleet, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[RunningEdge]:
    async with running_edge(fleet, tmp_path_factory.mktemp("edge")) as edge:
        yield edge


async def test_refusals_have_the_form_of_their_api(running: RunningEdge) -> None:
    async with unfinished_bodies(running, "127.0.4.1", LARGE_BODIES):

        async def refused() -> httpx.Response | None:
            answer = await post(running, "127.0.4.1")
            return answer if answer.status_code == 429 else None

        answer = await wait_until(refused, 20, "all places are taken")
        assert answer is not None
        problem = answer.json()
        assert answer.headers["Content-Type"] == "application/problem+json"
        assert (problem["status"], problem["code"]) == (429, "rate-limited")
        detail = problem["detail"]
        assert "PAIRWAY_EDGE_CLIENT_BODIES" in detail
        shapes: dict[str, dict[str, Any]] = {
            "/libretranslate/translate": {"error": f"Slowdown: {detail}"},
            "/v2/translate": {"message": detail},
            "/deepl/v2/translate": {"message": detail},
            "/deepl/v3/glossaries": {"message": detail},
            "/deeplx/translate": {"code": 429, "message": detail},
            "/imme": {"error": "rate-limited", "message": detail},
            "/kiss": {"error": "rate-limited", "message": detail},
            "/glossaries": problem,
        }
        for path, shape in shapes.items():
            answer = await post(running, "127.0.4.1", path)
            assert code_of(answer) == (429, shape), path
            assert answer.headers["Retry-After"] == "1"
            assert answer.headers["Content-Type"].startswith("application/json") or path == "/glossaries"
        for path in ("/libretranslate/translate", "/v2/translate", "/deepl/v2/translate"):
            assert (await post(running, "127.0.4.1", path, user_agent="Weblate/5.4")).status_code == 500, path
        assert (await post(running, "127.0.4.2")).status_code == 200, "another client has its own place"
    lines = [line for line in running.log if line["refused"] == "bodies"]
    assert {line["path"] for line in lines} >= shapes.keys()
    assert "127.0.4." not in json.dumps(lines)


async def test_places_come_back_when_bodies_go(running: RunningEdge) -> None:
    """Those of clients who went away too."""

    async def served() -> bool:
        return (await post(running, "127.0.4.3")).status_code == 200

    async with unfinished_bodies(running, "127.0.4.3", LARGE_BODIES):
        pass
    await wait_until(served, 20, "there is a place again")


async def test_requests_of_a_client_and_of_all_are_limited(fleet: Fleet, tmp_path: Path) -> None:
    async with running_edge(fleet, tmp_path, SMALL_LIMITS) as running:
        async with held(running, "127.0.4.1", "127.0.4.1"):
            status, problem = code_of(await post(running, "127.0.4.1", "/detect"))
            assert (status, problem["code"]) == (429, "rate-limited")
            assert "PAIRWAY_EDGE_CLIENT_CONNECTIONS" in problem["detail"]
            async with held_too(running, "127.0.4.2"):
                status, problem = code_of(await post(running, "127.0.4.3", "/detect"))
                assert (status, problem["code"]) == (429, "rate-limited")
                assert "have PAIRWAY_EDGE_CONNECTIONS requests" in problem["detail"]
        assert [line["refused"] for line in running.log if line["refused"]] == ["client-connections", "all-connections"]


@asynccontextmanager
async def held_too(running: RunningEdge, address: str) -> AsyncGenerator[None]:
    """Hold one more request as the others that are held."""
    before = len(running.fleet.fake.requests)
    task = asyncio.create_task(post_small(running, address))
    await wait_until(lambda: len(running.fleet.fake.requests) == before + 1, 20, "it is at the replica")
    yield
    assert running.fleet.fake.translate.released is not None
    running.fleet.fake.translate.released.set()
    assert await task == 200


async def post_small(running: RunningEdge, address: str) -> int:
    async with running.client(address) as client:
        return (await client.post("/translate", content=small_body())).status_code


async def test_ipv6_clients_behind_a_balancer_share_a_64(fleet: Fleet, tmp_path: Path) -> None:
    async with running_edge(fleet, tmp_path, SMALL_LIMITS | BALANCED) as running:
        first, second, third = "2001:db8:0:1::1", "2001:db8:0:1:ffff::2", "2001:db8:0:1::3"
        async with held(running, first, second):
            answer = await post(running, "127.0.0.1", "/detect", x_forwarded_for=third)
            assert answer.status_code == 429
            answer = await post(running, "127.0.0.1", "/detect", x_forwarded_for="2001:db8:0:2::3")
            assert answer.status_code != 429, "another network"
            answer = await post(running, "127.0.4.1", "/detect", x_forwarded_for=third)
            assert answer.status_code != 429, "no balancer's word is believed but those that are set"


async def test_translations_of_a_killed_proxy_are_repeated(fleet: Fleet, tmp_path: Path) -> None:
    """Small ones, and those with large bodies in their own places and in spare ones."""
    async with running_edge(fleet, tmp_path) as running:
        released = fleet.fake.translate.released = asyncio.Event()
        before = len(fleet.fake.requests)

        async def ask(content: bytes) -> int:
            async with running.client("127.0.4.1") as client:
                return (await client.post("/translate", content=content)).status_code

        bodies = [large_body() for _ in range(LARGE_BODIES)] + [small_body() for _ in range(SMALL_BODIES)]
        tasks = [asyncio.create_task(ask(content)) for content in bodies]
        await wait_until(lambda: len(fleet.fake.requests) == before + len(bodies), 20, "all are at the replica")
        fleet.proxies[0].kill()
        await wait_until(lambda: len(fleet.fake.requests) > before + len(bodies), 20, "the dead proxy's come again")
        released.set()
        assert await asyncio.gather(*tasks) == [200] * len(bodies)
        fleet.fake.translate.released = None
        repeated = [line for line in running.log if line["path"] == "/translate"]
        assert {(line["status"], line["proxies"].count(",")) for line in repeated} == {("200", 1)}
        assert all(line["request_id"] for line in repeated), "the proxies' ids, since the clients sent none"
    fleet.proxies[0].start()
    await fleet.are_ready()
