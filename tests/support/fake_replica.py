"""Fake replicas at the wire: real HTTP servers that answer as a test says."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Literal
from urllib.parse import urlencode

from shared.protocol.deadline import TIMEOUT_HEADER
from tests.support.processes import free_port

Fault = Literal["reset", "reset-mid-body", "close", "hang", "drip"]
Break = Literal["reset", "end", "error", "hang"]


@dataclass(slots=True)
class Script:
    """How a fake answers one of its paths: after a delay, with a fault, with these bytes, with a problem, or rightly."""

    delay: float = 0.0
    released: asyncio.Event | None = (
        None  # it answers when this is set, so that no pause is too long for what comes before
    )
    fault: Fault | None = None
    raw: tuple[int, bytes] | None = None
    problem: tuple[int, str] | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    retry_after: int | None = None
    streams: bool = True  # False: answers with JSON though asked for events
    breaks_after: int | None = None  # so many deltas of a stream come before it breaks
    breaks_with: Break = "reset"
    raw_stream: bytes | None = None


@dataclass(frozen=True, slots=True)
class Received:
    """One request as a fake saw it; header names in lower case."""

    headers: dict[str, str]
    body: dict[str, Any]


class FakeReplica:
    """An API server that translates by writing the pair before the text; programmable, counting, on a real socket."""

    def __init__(self, *pairs: str, host: str = "127.0.0.1", name: str = "fake") -> None:
        self.name = name
        self.host = host
        self.port = 0
        self.pairs = dict.fromkeys(pairs, True)
        self.state = "ready"
        self.translate = Script()
        self.text_capacity: int | None = None  # beyond so many texts in flight it answers 503 overloaded
        self.report = Script()
        self.foreign_load = 0
        self.started_at = time.time()
        self.engine_died_at: float | None = None
        self.weight = 1.0
        self.models: dict[str, Any] = {}  # what it reports of its models; its one model is called model-NAME
        self.ranks: dict[str, int] = {}
        self.revision: str | None = "1"  # of its model
        self.canary: str | None = None  # the text it names for trying it out; such requests are only counted
        self.canaries = 0
        self.runs_by: str | None = None  # what it says that runs it; None: as API servers said before
        self.confidence = 0.8  # of each text, where asked for
        self.uncertain: list[tuple[int, int]] | None = None  # of each translation, where its confidence is asked for
        self.requests: list[Received] = []
        self.probes = 0
        self.pairs_sent = 0  # reports with their pairs
        self.versions_pairs = True  # False: as API servers did before reports had pairs_version
        self.connections = 0
        self.aborts = 0
        self.texts_in_hand = 0
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    async def start(self) -> None:
        # Not one of the kernel's: while this replica is away, that could become another server's.
        self.port = self.port or free_port()
        self._server = await asyncio.start_server(self._accept, self.host, self.port)

    async def stop(self) -> None:
        """Die: refuse new connections and reset those there are; ``start`` brings it back at the same URL."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            while await self._serve_one(reader, writer):
                pass
        except (asyncio.CancelledError, ConnectionError, asyncio.IncompleteReadError):
            _reset(writer)
        finally:
            self._tasks.discard(task)
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        path, _, query = path.partition("?")
        if (method, path) == ("GET", "/report"):
            self.probes += 1
            return await self._answer(reader, writer, self.report, self._report(query))
        assert (method, path) == ("POST", "/translate"), head[0]
        asked = json.loads(body)
        if headers["x-request-id"].startswith("canary-"):
            assert headers["cache-control"] == "no-store", "older API servers must not sample canaries"
            self.canaries += 1
            return await self._answer(reader, writer, self.translate, self._translation(asked))
        self.requests.append(Received(headers, asked))
        texts = 1 if isinstance(asked["text"], str) else len(asked["text"])
        self.texts_in_hand += texts
        try:
            good = self._translation(asked)
            if self.text_capacity is not None and self.texts_in_hand > self.text_capacity:
                return await self._answer(reader, writer, Script(problem=(503, "overloaded")), good)
            if "text/event-stream" in headers.get("accept", "") and self.translate.streams and self._is_well():
                return await self._stream(reader, writer, self.translate, good)
            return await self._answer(reader, writer, self.translate, good)
        finally:
            self.texts_in_hand -= texts

    def _is_well(self) -> bool:
        """Say whether a translation at least begins as it should."""
        script = self.translate
        begins = script.breaks_after is not None or script.problem is None
        return begins and script.fault is None and script.raw is None

    async def _stream(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, script: Script, good: dict[str, Any]
    ) -> bool:
        if await _hung_up_before_answer(reader, script):
            self.aborts += 1
            return False
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        if script.raw_stream is not None:
            for start in range(0, len(script.raw_stream), 65_536):
                await _write_chunk(writer, script.raw_stream[start : start + 65_536])
            await _write_chunk(writer, b"")
            return True
        events = deltas_of(good)
        for event in events if script.breaks_after is None else events[: script.breaks_after]:
            await _write_chunk(writer, event)
        if script.breaks_after is None:
            await _write_chunk(writer, _event("result", good), b": nothing more follows\n\n")
        elif script.breaks_with == "reset":
            _reset(writer)
            return False
        elif script.breaks_with == "hang":
            self.aborts += await _hung_up(reader, 3600)
            return False
        elif script.breaks_with == "error":
            status, code = script.problem or (500, "internal")
            problem = {"type": f"urn:pairway:{code}", "title": "Said so", "status": status, "code": code}
            await _write_chunk(writer, _event("error", {**problem, "detail": f"The replica says {code}."}))
        await _write_chunk(writer, b"")
        return True

    async def _answer(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, script: Script, good: dict[str, Any]
    ) -> bool:
        if await _hung_up_before_answer(reader, script):
            self.aborts += 1
            return False
        status, body = 200, json.dumps(good).encode()
        if script.raw is not None:
            status, body = script.raw
        elif script.problem is not None:
            status, code = script.problem
            problem = {"type": f"urn:pairway:{code}", "title": "Said so", "status": status, "code": code}
            body = json.dumps({**problem, "detail": f"The replica says {code}.", **script.facts}).encode()
        retry = "" if script.retry_after is None else f"Retry-After: {script.retry_after}\r\n"
        head = f"HTTP/1.1 {status} Said\r\nContent-Type: application/json\r\n{retry}Content-Length: {len(body)}\r\n\r\n"
        match script.fault:
            case "reset":
                _reset(writer)
                return False
            case "close":
                return False
            case "reset-mid-body":
                writer.write(head.encode() + body[: len(body) // 2])
                await writer.drain()
                _reset(writer)
                return False
            case "drip":
                writer.write(head.encode())
                for byte in body:
                    writer.write(bytes([byte]))
                    await writer.drain()
                    await asyncio.sleep(0.05)  # a slow line, not a wait for an outcome
            case _:
                writer.write(head.encode() + body)
                await writer.drain()
        return True

    def _report(self, query: str) -> dict[str, Any]:
        pairs: dict[str, Any] = {}
        for label, ready in self.pairs.items():
            source, target = label.split(">")
            pairs[f"{source}-{target}"] = {
                "source": source,
                "target": target,
                "model": f"model-{self.name}",
                "ready": ready,
                "why": None if ready else "its engine starts",
                "rank": self.ranks.get(label, 0),
                "canary": self.canary,
            }
        version = {"pairs_version": sha256(json.dumps(pairs).encode()).hexdigest()} if self.versions_pairs else {}
        if version and query == urlencode(version):
            pairs = {}
        self.pairs_sent += bool(pairs)
        return {
            "replica_id": self.name,
            "version": "0.0-fake",
            "started_at": self.started_at,
            "state": self.state,
            "in_flight": self.texts_in_hand + self.foreign_load,
            "engine_died_at": self.engine_died_at,
            "weight": self.weight,
            "pairs": pairs,
            **version,
            **({"runs_by": self.runs_by} if self.runs_by else {}),
            "models": {f"model-{self.name}": self._model(), **self.models},
        }

    def _model(self) -> dict[str, Any]:
        idle = {"running": 0, "waiting": 0, "limit": 64, "steps": 0, "step_age_s": None, "kv_used": 0.0}
        return {**idle, "revision": self.revision}

    def _translation(self, asked: dict[str, Any]) -> dict[str, Any]:
        source, target = asked["source_lang"], asked["target_lang"]
        is_scored = asked.get("confidence", False) or "min_confidence" in asked

        def one(text: str) -> dict[str, Any]:
            more = [f"{number}. {text}" for number in range(asked.get("alternatives", 0))]
            return {
                "translation": f"[{source}>{target} by {self.name}] {text}",
                **({"alternatives": more} if more else {}),
                **({"confidence": self.confidence} if is_scored else {}),
                **({"alternatives_confidence": [self.confidence / 2 for _ in more]} if is_scored and more else {}),
                **({"uncertain": self.uncertain} if is_scored and self.uncertain is not None else {}),
                "source_lang": source,
                "target_lang": target,
                "model": f"model-{self.name}",
                "route": [source, target],
                "warnings": [],
            }

        text = asked["text"]
        return one(text) if isinstance(text, str) else {"results": [one(each) for each in text]}

    def timeouts_ms(self) -> list[int]:
        """Return what every request said of its remaining time."""
        return [int(received.headers[TIMEOUT_HEADER.lower()]) for received in self.requests]


def deltas_of(good: dict[str, Any]) -> list[bytes]:
    """Return the events before a result: the first half of every text, then all the second ones."""
    texts = [one["translation"] for one in good.get("results", [good])]
    first = [_event("delta", {"index": index, "text": text[: len(text) // 2]}) for index, text in enumerate(texts)]
    second = [_event("delta", {"index": index, "text": text[len(text) // 2 :]}) for index, text in enumerate(texts)]
    return [*first, *second]


def _event(name: str, data: dict[str, Any]) -> bytes:
    return f": a comment\r\n\r\nevent: {name}\r\ndata: {json.dumps(data)}\r\n\r\n".encode()


async def _write_chunk(writer: asyncio.StreamWriter, *parts: bytes) -> None:
    """Write a chunk; an empty one is the end."""
    body = b"".join(parts)
    writer.write(b"%x\r\n%s\r\n" % (len(body), body))
    await writer.drain()


async def _hung_up_before_answer(reader: asyncio.StreamReader, script: Script) -> bool:
    """Say whether the client closed the connection before the script lets an answer begin."""
    if script.released is not None:
        reading = asyncio.create_task(_hung_up(reader, 3600))
        release = asyncio.create_task(script.released.wait())
        try:
            await asyncio.wait({reading, release}, return_when=asyncio.FIRST_COMPLETED)
            return reading.done() and reading.result()
        finally:
            reading.cancel()
            release.cancel()
            await asyncio.gather(reading, release, return_exceptions=True)
    if script.delay or script.fault == "hang":
        return await _hung_up(reader, script.delay or 3600)
    return False


async def _hung_up(reader: asyncio.StreamReader, within: float) -> bool:
    """Say whether the client closed the connection within the time."""
    try:
        return await asyncio.wait_for(reader.read(1), within) == b""
    except TimeoutError:
        return False
    except ConnectionError:
        return True


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close with RST rather than FIN."""
    taken: socket.socket | None = writer.get_extra_info("socket")
    if taken is not None and taken.fileno() != -1:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


@asynccontextmanager
async def replicas(*fakes: FakeReplica) -> AsyncGenerator[None]:
    """Run the fakes while the block lasts."""
    try:
        for fake in fakes:
            await fake.start()
        yield
    finally:
        for fake in fakes:
            await fake.stop()
