"""Burdensome clients, and what is judged beside them."""

from __future__ import annotations

import asyncio

from benchmarks.connections.__main__ import Phase, ProcessState, judge
from benchmarks.connections.clients import ClientGroup, ClientRunner

# Long enough for the answers of a few connections on a busy machine.
HOLD_SECONDS = 1.5


async def test_every_answer_on_a_connection_is_counted() -> None:
    async def answer_twice(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(
            b"HTTP/1.1 400 Bad\r\nContent-Length: 13\r\n\r\nnot HTTP/1.1 xHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
        )
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer_twice, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        ended = await ClientRunner(ClientGroup("smuggled requests", 3, port, "127.0.0.2", HOLD_SECONDS)).run()

    assert ended["open"].startswith("3 in ")
    assert ended["closed"].startswith("3 after ")
    assert " (answered 400: 3, 200: 3, after " in ended["closed"]
    assert (ended["most_answers"], ended["refused"]) == (2, {})


async def test_refused_connections_are_counted() -> None:
    ended = await ClientRunner(ClientGroup("silent", 2, 1, "127.0.0.2", 0.0)).run()

    assert ended["refused"] == {"ConnectionRefusedError": 2}


def phase(name: str, p95: float, **clients: int) -> Phase:
    return Phase(name, [ProcessState(1.0, 90.0, 20, 1.0)], dict(clients), latencies=[1.0, p95, 9.0], requests=100)


def test_others_who_feel_the_clients_are_a_missed_target() -> None:
    groups = [phase("9 heads", 29.0), phase("9 bodies", 31.0), phase("9 smuggled requests", 20.0, most_answers=2)]
    groups[0].failures = {"0 TimeoutError": 1}
    missed = judge([phase("load alone", 20.0), *groups, phase("load alone again", 30.0)]).missed(timings=True)

    assert [check.name for check in missed] == [
        "9 heads: the others' requests that failed",
        "9 bodies: their p95, of that alone",
        "9 smuggled requests: answers on one connection",
    ]
