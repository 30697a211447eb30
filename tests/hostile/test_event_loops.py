"""No input makes an event loop stand still, and none costs more than its length; see ``make bench-hostile`` for all of them."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.hostile.endpoints import HEAD_KINDS, body_rows
from tests.hostile.measuring import REPEATS, Row, send
from tests.hostile.run import all_rows, apiserver_endpoints, measured, proxy_endpoints
from tests.hostile.sample import is_head, sampled
from tests.hostile.servers import HostileFleet, WatchedServer

pytestmark = [pytest.mark.no_cover, pytest.mark.xdist_group("hostile")]

# `make bench-hostile` asserts 50 ms on a machine of its own.
MAX_STALL_SECONDS = 0.2
# The others have hostile heads alone, which every endpoint gets.
METHODS_WITH_BODY = {"POST", "PUT", "PATCH"}
CLIENTS, MIXED_ROWS = 8, 32


def listed(rows: list[Row], server: str) -> set[tuple[str, str]]:
    """Return method and route of the rows of a server."""
    return {tuple(row.endpoint.split(" ", 1)) for row in rows if row.server == server}  # pyright: ignore[reportReturnType]


def test_every_endpoint_has_its_hostile_inputs() -> None:
    rows = list(body_rows())
    for server, served in (("proxy", proxy_endpoints()), ("apiserver", apiserver_endpoints())):
        taking_bodies = {each for each in served if each[0] in METHODS_WITH_BODY}
        assert listed(rows, server) >= taking_bodies, "give each new one its rows in tests/hostile/endpoints.py"
        assert listed(rows, server) <= set(served), "no endpoint of the server"
    assert listed(rows, "keyed") <= set(proxy_endpoints())


async def test_no_input_stops_a_loop_or_costs_more(hostile_fleet: HostileFleet) -> None:
    rows = sampled(all_rows(HEAD_KINDS[:1]))
    # Heads are small, and of a burst the single request is a row of its own, whose growth counts.
    once = [row for row in rows if is_head(row) or row.copies > 1]
    bodies = [row for row in rows if not is_head(row) and row.copies == 1]
    results = [
        *measured(hostile_fleet, once, MAX_STALL_SECONDS, doublings=0),
        *measured(hostile_fleet, bodies, MAX_STALL_SECONDS, doublings=1),
    ]
    faults = [
        f"{result.row.title}, {result.size:,}: {fault}\n{result.stacks[-1500:]}"
        for result in results
        for fault in result.faults(MAX_STALL_SECONDS)
    ]
    assert not faults, f"{len(faults)} of {len(results)} rows:\n" + "\n".join(faults)


async def test_no_mixed_load_stops_a_loop(hostile_fleet: HostileFleet) -> None:
    """The inputs of one server at once: threads that keep the interpreter's lock add up."""
    for name, server in hostile_fleet.watched.items():
        rows = [row for row in sampled(all_rows(HEAD_KINDS[:1])) if row.server == name and not row.endless]
        chosen = random.Random(name).sample(rows, min(MIXED_ROWS, len(rows)))  # noqa: S311 - a sample, no secret
        stalls = [mixed_load(server, chosen, 7)]
        # A busy machine makes figures larger, never smaller; other seeds, so that no cache helps.
        while min(stalls) > MAX_STALL_SECONDS and len(stalls) < REPEATS:
            stalls.append(mixed_load(server, chosen, 7 + len(stalls)))
        assert min(stalls) <= MAX_STALL_SECONDS, f"{name}: {stalls}\n{server.stacks.read_text()[-3000:]}"


def mixed_load(server: WatchedServer, rows: list[Row], seed: int) -> float:
    """Send these rows by some clients at once; return the longest stall."""

    def status(row: Row) -> int:
        return send(server, row.make(row.limit // 2, seed))[0]

    server.probe.reset()
    with ThreadPoolExecutor(CLIENTS) as clients:
        statuses = list(clients.map(status, rows))
    assert all(statuses), f"{server.name}: {statuses}"
    return server.probe.stall
