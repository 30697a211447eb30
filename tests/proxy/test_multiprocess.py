"""Several processes of one proxy behind one port."""

from __future__ import annotations

import os
import signal
import socket
import sys
from pathlib import Path

import httpx
import psutil

from tests.conftest import PREFIX, RedisServer
from tests.proxy.proxy_process import exit_code_of, proxy_process, readiness
from tests.support.fake_replica import FakeReplica, replicas
from tests.support.processes import Server, free_port, python_server
from tests.support.waiting import wait_until


async def send_requests(client: httpx.AsyncClient, count: int) -> set[int]:
    """Ask on a new connection each time; return the statuses, 0 where the connection broke."""
    found: set[int] = set()
    for number in range(count):
        sent = {"text": f"Hello {number}", "source_lang": "en", "target_lang": "de"}
        try:
            found.add((await client.post("/translate", json=sent, headers={"Connection": "close"})).status_code)
        except httpx.TransportError:
            found.add(0)
    return found


async def request_counts(ports: list[int]) -> list[float]:
    """Return how many translations each process has counted, -1 where none listens."""
    found: list[float] = []
    async with httpx.AsyncClient(trust_env=False, timeout=5) as client:
        for port in ports:
            try:
                text = (await client.get(f"http://127.0.0.1:{port}/metrics")).text
            except httpx.TransportError:
                found.append(-1)
                continue
            lines = [line for line in text.splitlines() if line.startswith("pairway_proxy_requests_total{")]
            found.append(sum(float(line.rsplit(" ", 1)[1]) for line in lines))
    return found


def two_ports() -> list[int]:
    """Return two ports, one after the other, that were free a moment ago."""
    while True:
        first = free_port()
        with socket.socket() as second:
            try:
                second.bind(("127.0.0.1", first + 1))
            except OSError:
                continue
            return [first, first + 1]


async def test_processes_share_a_port_and_a_dead_one_is_restarted(tmp_path: Path, redis: RedisServer) -> None:
    one = FakeReplica("en>de")
    ports = two_ports()
    settings = {"processes": "2", "operator_port": str(ports[0]), "drain_seconds": "0"}
    async with replicas(one), proxy_process(tmp_path, redis, one, **settings) as (server, client):

        async def both() -> bool:
            return -1 not in await request_counts(ports) and await send_requests(client, 20) == {200}

        await wait_until(both, 20, "both processes serve")
        one.report.delay = 0.5  # so long a new process knows of no replica, and must accept nobody
        before = sum(await request_counts(ports))
        assert await send_requests(client, 50) == {200}
        assert sum(await request_counts(ports)) == before + 50
        first, second = (process.pid for process in psutil.Process(server.pid).children())
        os.kill(first, signal.SIGKILL)
        seen: set[int] = set()

        async def both_again() -> bool:
            seen.update(await send_requests(client, 50))
            return -1 not in await request_counts(ports)

        await wait_until(both_again, 20, "another one in its place")
        assert seen <= {200, 0}, "what it had accepted is lost, and no more"
        assert await send_requests(client, 50) == {200}
        now = {process.pid for process in psutil.Process(server.pid).children()}
        assert second in now
        assert len(now) == 2
        server.signal(signal.SIGINT)
        assert await exit_code_of(server) == 0
        assert not any(map(psutil.pid_exists, now))
        assert "Traceback" not in server.tail(200)


async def test_processes_end_with_their_supervisor(tmp_path: Path, redis: RedisServer) -> None:
    one = FakeReplica("en>de")
    settings = {"processes": "2", "operator_port": str(two_ports()[0]), "drain_seconds": "0"}
    async with replicas(one), proxy_process(tmp_path, redis, one, **settings) as (server, client):
        children = psutil.Process(server.pid).children()
        assert len(children) == 2
        server.kill()

        async def gone() -> bool:
            return not any(child.is_running() and child.status() != psutil.STATUS_ZOMBIE for child in children)

        await wait_until(gone, 10, "both end")
        assert await readiness(client) == 0


async def test_processes_that_cannot_start_end_the_supervisor(tmp_path: Path, redis: RedisServer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        environment = {
            "PROXY_PORT": str(free_port()),
            "PROXY_REDIS_URL": redis.url,
            "PROXY_REDIS_PREFIX": PREFIX,
            "PROXY_PROCESSES": "2",
            "PROXY_OPERATOR_PORT": str(port),
            "PROXY_DRAIN_SECONDS": "0",
        }
        server = python_server("proxy", tmp_path, environment, "proxy")
        server.start()
        try:
            assert await exit_code_of(server) == 1
        finally:
            server.stop()
        assert "address already in use" in server.tail(100)


# Two processes, one of which writes a line each time it is started, the second time can not start, and else waits.
RESTARTED = """
import pathlib, signal, sys, time
from proxy.multiprocess import NO_START, ProcessSupervisor

starts = pathlib.Path(sys.argv[1])

def serve(number):
    if number:
        with starts.open("a") as lines:
            print("started", file=lines)
        if len(starts.read_text().split()) == 2:
            return NO_START
    time.sleep(60)

sys.exit(ProcessSupervisor(2, serve, lambda: None).run())
"""


async def test_failed_restart_is_retried(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    starts.touch()
    server = Server([sys.executable, "-c", RESTARTED, str(starts)], tmp_path / "processes.log")
    server.start()
    try:
        await wait_until(lambda: starts.read_text() and len(psutil.Process(server.pid).children()) == 2, 10, "both")
        first, second = psutil.Process(server.pid).children()
        second.kill()
        await wait_until(lambda: len(starts.read_text().split()) == 3, 10, "tried again")
        assert first.is_running()
        server.signal(signal.SIGTERM)
        assert await exit_code_of(server) == 0
    finally:
        server.stop()


async def test_taken_port_is_one_log_line(tmp_path: Path, redis: RedisServer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        environment = {
            "PROXY_PORT": str(taken.getsockname()[1]),
            "PROXY_REDIS_URL": redis.url,
            "PROXY_REDIS_PREFIX": PREFIX,
            "PROXY_PROCESSES": "2",
            "PROXY_OPERATOR_PORT": str(free_port()),
        }
        server = python_server("proxy", tmp_path, environment, "proxy")
        server.start()
        try:
            assert await exit_code_of(server) == 1
        finally:
            server.stop()
        assert "no socket" in server.tail()
        assert "Traceback" not in server.tail(100)
