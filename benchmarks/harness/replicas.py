"""Replicas that cost next to nothing, as one process: ``python -m benchmarks.harness.replicas FLEET`` (as JSON).

They answer ``/report`` as API servers do, and every ``/translate`` or OpenAI chat completion with the same small JSON. Each is a port of
127.0.0.1. ``/counted`` says how many reports all of them gave.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
import time
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Final, cast

import httptools
import uvloop
from pydantic import TypeAdapter
from typing_extensions import override

from benchmarks.harness.processes import Server
from shared.languages import LanguagePair
from shared.protocol.answers import Translation
from shared.protocol.priority import Priority
from shared.protocol.report import ClassCapacity, ModelReport, PairReport, ReplicaReport, ServedPairs, ServerState
from shared.version import VERSION

# Stands in every answer, whatever a proxy makes of the JSON around it.
TRANSLATION: Final = "Wo ist der Bahnhof?"
# The first two make the pair that every replica serves.
LANGUAGES: Final = "en de fr es it pt nl pl cs sk sl hr ro hu fi sv da el bg et lv lt"
OTHERS_EACH: Final = 3
SHARED_MODEL: Final = "m"
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
    """Replicas at neighbouring ports, and their pairs; ``max_load``: of each replica; ``delay``: seconds of a translation."""

    first_port: int
    replicas: int
    pairs: int = 1
    shape: FleetShape = FleetShape.SPECIALISTS
    max_load: int = 0
    delay: float = 0.0

    @property
    def all_pairs(self) -> list[LanguagePair]:
        """Every pair, first the one that every replica serves."""
        directions = itertools.combinations(LANGUAGES.split(), 2)
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
        own = {} if self.shape is FleetShape.POLYGLOTS else {pair: f"m{pair.source}{pair.target}" for pair in pairs[1:]}
        models = dict.fromkeys(pairs, SHARED_MODEL) | own
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
        return [f"http://127.0.0.1:{self.first_port + number}" for number in range(self.replicas)]

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
    """Return the bytes of a response with that JSON, or with these bytes of JSON."""
    content = body if isinstance(body, bytes) else json.dumps(body, separators=(",", ":")).encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    return head.encode() + content


def fixed_responses() -> dict[bytes, bytes]:
    """Return the response for each path that has always the same one."""
    translation = Translation(
        translation=TRANSLATION, source_lang="en", target_lang="de", model=SHARED_MODEL, route=["en", "de"]
    )
    choice = {"index": 0, "message": {"role": "assistant", "content": TRANSLATION}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 8, "completion_tokens": 8, "total_tokens": 16}
    completion = {"id": "1", "object": "chat.completion", "created": 1, "model": SHARED_MODEL, "choices": [choice]}
    models = {"object": "list", "data": [{"id": SHARED_MODEL, "object": "model", "created": 1, "owned_by": "bench"}]}
    return {
        b"/translate": as_response(translation.to_json()),
        b"/v1/chat/completions": as_response({**completion, "usage": usage}),
        b"/v1/models": as_response(models),
        b"/health": as_response({}),
    }


@cache
def report_response(fleet: SimulatedFleet, number: int, look: int, *, without_pairs: bool) -> bytes:
    """Return a replica's n-th report, perhaps without the pairs that the proxy knows."""
    report = fleet.report(number, look)
    if without_pairs:
        report = report.without_known_pairs(report.pairs_version)
    return as_response(report.model_dump_json().encode())


class ReplicaResponses:
    """What the replicas of a fleet answer."""

    def __init__(self, fleet: SimulatedFleet) -> None:
        self.fleet = fleet
        self._fixed = fixed_responses()
        self._reports = 0

    def response(self, number: int, url: bytes) -> bytes:
        """Return what a replica answers."""
        if fixed := self._fixed.get(url):
            return fixed
        if not url.startswith(b"/report"):
            return as_response({"reports": self._reports}) if url == b"/counted" else as_response({}, "404 Not Found")
        self._reports += 1
        known = b"pairs_version=" in url
        report = report_response(self.fleet, number, self._reports % REPORTS, without_pairs=known)
        return report.replace(b"%d" % STEPS, b"%-10d" % (1000 * time.monotonic()))


class ReplicaConnection(asyncio.Protocol):
    """One connection of a client; requests come one after the other."""

    def __init__(self, responses: ReplicaResponses, number: int) -> None:
        self._responses = responses
        self._number = number
        self._parser = httptools.HttpRequestParser(self)
        self._url = b""

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    @override
    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            self._transport.close()

    def on_url(self, url: bytes) -> None:
        """Note what is asked for."""
        self._url = url

    def on_message_complete(self) -> None:
        """Answer."""
        response, delay = self._responses.response(self._number, self._url), self._responses.fleet.delay
        if delay and self._url == b"/translate":
            asyncio.get_running_loop().call_later(delay, self._transport.write, response)
        else:
            self._transport.write(response)


async def serve(fleet: SimulatedFleet) -> None:
    """Serve until ended."""
    loop, responses = asyncio.get_running_loop(), ReplicaResponses(fleet)

    async def listen(number: int) -> None:
        port = fleet.first_port + number
        await loop.create_server(lambda: ReplicaConnection(responses, number), "127.0.0.1", port, backlog=BACKLOG)

    for number in range(fleet.replicas):
        await listen(number)
    await loop.create_future()


if __name__ == "__main__":
    uvloop.run(serve(FLEET_JSON.validate_json(sys.argv[1])))
