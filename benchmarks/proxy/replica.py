"""A replica that costs next to nothing: ``python -m benchmarks.proxy.replica PORT…`` (one process, each port a replica).

It answers as our API server does and as an OpenAI server does, each request at once with the same small JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable, Sequence
from typing import Final, cast

import httptools
import uvloop
from typing_extensions import override

from benchmarks.proxy.requests import CHAT, TRANSLATE, TRANSLATION
from shared.protocol.messages import Translation
from shared.protocol.priority import Priority
from shared.protocol.report import ClassCapacity, ModelReport, PairReport, ReplicaReport, ServedPairs, ServerState
from shared.version import VERSION

# More than any load here has in flight: nobody is refused.
CAPACITY: Final = ClassCapacity(ahead=0, limit=10_000)
MODEL: Final = "m"
NOT_FOUND: Final = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"


def as_answer(body: bytes) -> bytes:
    """Return a whole HTTP answer."""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def report(name: str, steps: int) -> bytes:
    """Return what ``GET /report`` answers: a ready replica whose engine makes steps."""
    pair = PairReport(source="en", target="de", model=MODEL, ready=True, why=None, canary="Hello")
    model = ModelReport(
        running=0,
        waiting=0,
        limit=256,
        steps=steps,
        step_age_s=0.0,
        kv_used=0.0,
        revision="1",
        capacity=dict.fromkeys(Priority, CAPACITY),
    )
    return (
        ReplicaReport(
            replica_id=name,
            version=VERSION,
            started_at=STARTED_AT,
            state=ServerState.READY,
            in_flight=0,
            pairs=ServedPairs({"en-de": pair}),
            models={MODEL: model},
        )
        .model_dump_json()
        .encode()
    )


def fixed_answers() -> dict[bytes, bytes]:
    """Return the answer for each path that has always the same one."""
    translation = Translation(
        translation=TRANSLATION, source_lang="en", target_lang="de", model=MODEL, route=["en", "de"]
    )
    message = {"role": "assistant", "content": TRANSLATION}
    completion = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": MODEL,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 8, "completion_tokens": 8, "total_tokens": 16},
    }
    models = {"object": "list", "data": [{"id": MODEL, "object": "model", "created": 1, "owned_by": "bench"}]}
    bodies = {
        TRANSLATE.path: json.dumps(translation.to_json(), separators=(",", ":")),
        CHAT.path: json.dumps(completion, separators=(",", ":")),
        "/v1/models": json.dumps(models),
        "/health": "{}",
    }
    return {path.encode(): as_answer(body.encode()) for path, body in bodies.items()}


class ReplicaConnection(asyncio.Protocol):
    """One connection of a client; requests come one after the other."""

    def __init__(self, name: str, answers: dict[bytes, bytes]) -> None:
        self._name = name
        self._answers = answers
        self._parser = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport | None = None
        self._url = b""

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

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
        answer = self._answers.get(self._url)
        if answer is None:
            answer = (
                as_answer(report(self._name, int(1000 * time.monotonic()))) if self._url == b"/report" else NOT_FOUND
            )
        self._transport.write(answer)


async def serve(ports: Sequence[str]) -> None:
    """Serve until ended."""
    loop = asyncio.get_running_loop()
    answers = fixed_answers()

    def connections_of(port: str) -> Callable[[], ReplicaConnection]:
        return lambda: ReplicaConnection(f"replica-{port}", answers)

    servers = [await loop.create_server(connections_of(port), "127.0.0.1", int(port)) for port in ports]
    await asyncio.gather(*(server.serve_forever() for server in servers))


STARTED_AT: Final = time.time()

if __name__ == "__main__":
    uvloop.run(serve(sys.argv[1:]))
