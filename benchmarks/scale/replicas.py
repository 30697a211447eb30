"""The scale benchmark's replicas: one process that responses ``/report`` at a thousand addresses, as cheaply as it can.

    python -m benchmarks.scale.replicas REPLICAS PAIRS SHAPE

Each address is another replica; load and steps change from report to report, its pairs never: who names a version of them gets
the report without. ``/counted`` says how many reports it gave.
Prints the port, one that no other process has at any address.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections import Counter
from collections.abc import Sequence
from typing import cast

from benchmarks.scale.fleet import FleetShape, SimulatedFleet, number_of
from shared.protocol.report import ReplicaReport

END_OF_HEAD = b"\r\n\r\n"
COUNTED = b"GET /counted "
# Reports differ from probe to probe; after so many they begin again.
REPORTS = 3
PAIRS_VERSION = b"pairs_version="

# What one replica answers at each look: the report, and the report without its pairs.
Responses = Sequence[tuple[bytes, bytes]]


class ScaleReplica(asyncio.Protocol):
    """One connection; keep-alive, one request after the other, whatever it asks for."""

    def __init__(self, responses: Sequence[Responses], counts: Counter[str]) -> None:
        self._responses = responses
        self._counts = counts
        self._sent = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Learn by the address whose connection this is."""
        self._transport = cast("asyncio.Transport", transport)
        self._own = self._responses[number_of(transport.get_extra_info("sockname")[0])]

    def data_received(self, data: bytes) -> None:
        """Answer; a probe's head comes in one piece."""
        if data.startswith(COUNTED):
            self._transport.write(response(json.dumps(self._counts)))
        elif data.endswith(END_OF_HEAD):
            self._counts["reports"] += 1
            whole, without_pairs = self._own[self._sent % REPORTS]
            self._transport.write(without_pairs if PAIRS_VERSION in data else whole)
            self._sent += 1


def response(body: str) -> bytes:
    """Return the bytes of an answer."""
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body.encode())}\r\n\r\n"
    return (head + body).encode()


def _responses(report: ReplicaReport) -> tuple[bytes, bytes]:
    without_pairs = report.without_known_pairs(report.pairs_version)
    return response(report.model_dump_json()), response(without_pairs.model_dump_json())


async def serve(fleet: SimulatedFleet) -> None:
    """Answer until told to stop."""
    counts: Counter[str] = Counter()
    # The bodies of polyglots are long; three looks of each are enough to be different.
    responses = [
        [_responses(fleet.report(number, look)) for look in range(REPORTS)] for number in range(fleet.replicas)
    ]
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for each in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(each, stopped.set)
    server = await loop.create_server(lambda: ScaleReplica(responses, counts), "0.0.0.0", 0, backlog=4096)  # noqa: S104 - all of 127/8
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await stopped.wait()


if __name__ == "__main__":
    asyncio.run(serve(SimulatedFleet(int(sys.argv[1]), int(sys.argv[2]), FleetShape(sys.argv[3]))))
