"""Replicas that cost next to nothing, as one process: ``python -m benchmarks.harness.replicas FLEET`` (as JSON).

They answer ``/report`` as API servers do, and every ``/translate`` or OpenAI chat completion with the same small JSON. Each of the fleet's
ports is another replica at 127.0.0.1; with one port each replica has an address (127.1.0.1 and up). ``/counted`` says how many
reports were given.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final, cast

import httptools
import uvloop
from pydantic import TypeAdapter
from typing_extensions import override

from benchmarks.harness.processes import Server
from shared.languages import LanguagePair
from shared.protocol.messages import Translation
from shared.protocol.priority import Priority
from shared.protocol.report import ClassCapacity, ModelReport, PairReport, ReplicaReport, ServedPairs, ServerState
from shared.version import VERSION

# Stands in every answer, whatever a proxy makes of the JSON around it.
TRANSLATION: Final = "Wo ist der Bahnhof?"
# The first two make the pair that every replica serves.
LANGUAGES: Final = (
    "en", "de", "fr", "es", "it", "pt", "nl", "pl", "cs", "sk", "sl", "hr", "ro", "hu", "fi", "sv", "da", "el", "bg", "et", "lv", "lt",
)  # fmt: skip
OTHERS_EACH: Final = 3
SHARED_MODEL: Final = "m"
ADDRESSES_PER_NET: Final = 250
CANARY: Final = "The house of my friend stands between the forest and the river."
# More than any load here has in flight: nobody is refused.
CAPACITY_LIMIT: Final = 10_000.0
# Loads differ from report to report; after so many they begin again.
REPORTS: Final = 3
# In the reports, where a number of steps comes that rises with each millisecond.
STEPS: Final = 1_234_567_890
BACKLOG: Final = 4096


class FleetShape(StrEnum):
    """Who serves what.

    Specialists serve the first pair and three of the others, so that one pair is served by all and each other by a few;
    polyglots serve every pair with one multilingual model.
    """

    SPECIALISTS = "specialists"
    POLYGLOTS = "polyglots"


@dataclass(frozen=True, slots=True)
class SimulatedFleet:
    """So many replicas and pairs, in a shape; ``max_load``: of each replica; ``delay``: seconds of a translation."""

    ports: Sequence[int]
    replicas: int
    pairs: int = 1
    shape: FleetShape = FleetShape.SPECIALISTS
    max_load: int = 0
    delay: float = 0.0

    @property
    def all_pairs(self) -> list[LanguagePair]:
        """Every pair, first the one that every replica serves."""
        directions = itertools.combinations(LANGUAGES, 2)
        pairs = [pair for one, two in directions for pair in (LanguagePair(one, two), LanguagePair(two, one))]
        if self.pairs > len(pairs):
            raise ValueError(f"there are names for {len(pairs)} pairs, not for {self.pairs}")
        return pairs[: self.pairs]

    def pairs_of(self, number: int) -> list[LanguagePair]:
        """Return the pairs of one replica."""
        first, *others = self.all_pairs
        if self.shape is FleetShape.POLYGLOTS or len(others) <= OTHERS_EACH:
            return [first, *others]
        return [first, *(others[(OTHERS_EACH * number + each) % len(others)] for each in range(OTHERS_EACH))]

    def report(self, number: int, look: int = 0) -> ReplicaReport:
        """Return what a replica reports at its n-th look: loads differ each time, what it serves does not."""
        pairs = self.pairs_of(number)
        own = {pair: f"m{pair.source}{pair.target}" for pair in pairs[1:]}
        models = dict.fromkeys(pairs, SHARED_MODEL) | ({} if self.shape is FleetShape.POLYGLOTS else own)
        load = (7 * number + 13 * look) % (self.max_load + 1)
        served = ServedPairs({
            str(pair): PairReport(source=pair.source, target=pair.target, model=model, ready=True, why=None, canary=CANARY)
            for pair, model in models.items()
        })  # fmt: skip
        return ReplicaReport(
            replica_id=f"{number:032x}",
            version=VERSION,
            started_at=1_790_000_000.0 + number,
            state=ServerState.READY,
            in_flight=load,
            pairs=served,
            pairs_version=served.version,
            models={model: _model(model, load) for model in models.values()},
        )

    def urls(self) -> list[str]:
        """Return the URL of every replica."""
        if len(self.ports) > 1:
            return [f"http://127.0.0.1:{port}" for port in self.ports]
        return [
            f"http://127.1.{number // ADDRESSES_PER_NET}.{number % ADDRESSES_PER_NET + 1}:{self.ports[0]}"
            for number in range(self.replicas)
        ]

    def number_at(self, address: str, port: int) -> int:
        """Return which replica that address is; 0 for the address that none has."""
        _, one, net, host = map(int, address.split("."))
        return int(net) * ADDRESSES_PER_NET + int(host) - 1 if one else self.ports.index(port)

    def server(self, folder: Path) -> Server:
        """Return the process of all replicas."""
        command = [sys.executable, "-m", "benchmarks.harness.replicas", FLEET_JSON.dump_json(self).decode()]
        return Server(command, folder / f"replicas-{self.shape}.log")


FLEET_JSON: Final = TypeAdapter(SimulatedFleet)


def _model(name: str, load: int) -> ModelReport:
    capacity = ClassCapacity(ahead=float(load), callers=float(min(load, 3)), limit=CAPACITY_LIMIT)
    return ModelReport(
        running=load,
        waiting=0,
        limit=256,
        steps=STEPS,
        step_age_s=0.0,
        kv_used=0.25,
        revision=f"{name}-1a2b3c4d5e6f",
        capacity=dict.fromkeys(Priority, capacity),
    )


def as_response(body: object, status: str = "200 OK") -> bytes:
    """Return the bytes of a response with that JSON."""
    content = json.dumps(body, separators=(",", ":")).encode()
    return b"HTTP/1.1 %b\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (
        status.encode(), len(content), content,
    )  # fmt: skip


def fixed_responses() -> dict[bytes, bytes]:
    """Return the response for each path that has always the same one."""
    translation = Translation(
        translation=TRANSLATION, source_lang="en", target_lang="de", model=SHARED_MODEL, route=["en", "de"]
    )
    message = {"role": "assistant", "content": TRANSLATION}
    completion = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": SHARED_MODEL,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 8, "completion_tokens": 8, "total_tokens": 16},
    }
    models = {"object": "list", "data": [{"id": SHARED_MODEL, "object": "model", "created": 1, "owned_by": "bench"}]}
    return {
        b"/translate": as_response(translation.to_json()),
        b"/v1/chat/completions": as_response(completion),
        b"/v1/models": as_response(models),
        b"/health": as_response({}),
    }


def _report_response(report: ReplicaReport) -> bytes:
    return as_response(report.model_dump(mode="json"))


class ReplicaResponses:
    """What the replicas of a fleet answer, ready to be sent."""

    def __init__(self, fleet: SimulatedFleet) -> None:
        self.fleet = fleet
        self._fixed = fixed_responses()
        self._counts = Counter[str]()
        self._reports: list[list[tuple[bytes, bytes]]] = []
        for number in range(fleet.replicas):
            reports = [fleet.report(number, look) for look in range(REPORTS)]
            without_pairs = [report.without_known_pairs(report.pairs_version) for report in reports]
            pairs = zip(map(_report_response, reports), map(_report_response, without_pairs), strict=True)
            self._reports.append(list(pairs))

    def response(self, number: int, url: bytes) -> bytes:
        """Return what a replica answers."""
        if fixed := self._fixed.get(url):
            return fixed
        if not url.startswith(b"/report"):
            return as_response(self._counts) if url == b"/counted" else as_response({}, "404 Not Found")
        self._counts["reports"] += 1
        whole, without_pairs = self._reports[number][self._counts["reports"] % REPORTS]
        report = without_pairs if b"pairs_version=" in url else whole
        return report.replace(b"%d" % STEPS, b"%-10d" % (1000 * time.monotonic()))


class ReplicaConnection(asyncio.Protocol):
    """One connection of a client; requests come one after the other."""

    def __init__(self, responses: ReplicaResponses) -> None:
        self._responses = responses
        self._parser = httptools.HttpRequestParser(self)
        self._number = 0
        self._transport: asyncio.Transport | None = None
        self._url = b""

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._number = self._responses.fleet.number_at(*transport.get_extra_info("sockname"))

    @override
    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            if self._transport is not None:
                self._transport.close()

    def on_url(self, url: bytes) -> None:
        """Note what is asked for."""
        self._url = url

    def on_message_complete(self) -> None:
        """Answer."""
        if self._transport is None:
            return
        response, delay = self._responses.response(self._number, self._url), self._responses.fleet.delay
        if delay and self._url == b"/translate":
            asyncio.get_running_loop().call_later(delay, self._transport.write, response)
        else:
            self._transport.write(response)


async def serve(fleet: SimulatedFleet) -> None:
    """Serve until ended."""
    loop, responses = asyncio.get_running_loop(), ReplicaResponses(fleet)
    host = "127.0.0.1" if len(fleet.ports) > 1 else "0.0.0.0"  # noqa: S104 - all of 127/8
    servers = [
        await loop.create_server(lambda: ReplicaConnection(responses), host, port, backlog=BACKLOG)
        for port in fleet.ports
    ]
    await asyncio.gather(*(server.serve_forever() for server in servers))


if __name__ == "__main__":
    uvloop.run(serve(FLEET_JSON.validate_json(sys.argv[1])))
