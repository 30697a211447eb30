"""Relay that records: passes requests on to a server, and notes each with the answer that its client got."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import httpx

from tests.conftest import NO_AUTHORITIES

# As long as a whole test may last; a client's own deadline is shorter.
FORWARD_SECONDS = 120.0
# A relay sets its own, or the connection's.
NOT_PASSED_ON = {"host", "connection", "content-length", "transfer-encoding", "content-encoding"}


@dataclass(slots=True)
class Relayed:
    """A request: its target as the client wrote it, and its answer once the client has it."""

    target: str
    headers: dict[str, str]
    body: dict[str, Any]
    status: int | None = None
    answer: dict[str, Any] | None = None

    @property
    def texts(self) -> list[str]:
        """The texts to translate."""
        text = self.body.get("text", [])
        return [text] if isinstance(text, str) else text


@dataclass(frozen=True, slots=True)
class Refusal:
    """Problem that a relay answers itself, with seconds for Retry-After."""

    status: int
    code: str
    retry_after: int


class RecordingRelay:
    """Server that passes all on to another; a client may also use it as its HTTP proxy."""

    def __init__(self, target_url: str, *, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None) -> None:
        self.target_url = target_url
        self.host = host
        self.tls = tls
        self.requests: list[Relayed] = []
        # What the next translations are answered instead.
        self.refusals: deque[Refusal] = deque()
        self.port = 0
        self._connections: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        """The relay's address."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.tls else 'http'}://{host}:{self.port}"

    def asked(self) -> list[str]:
        """Return the texts of all requests, as they came."""
        return [text for each in self.requests for text in each.texts]

    def translations(self) -> dict[str, str]:
        """Return what clients got, by text."""
        found: dict[str, str] = {}
        for each in self.requests:
            if each.texts and each.answer is not None and each.status == HTTPStatus.OK:
                results = each.answer.get("results", [each.answer])
                found |= {text: one["translation"] for text, one in zip(each.texts, results, strict=True)}
        return found

    def sent_after_their_answer(self) -> list[str]:
        """Return the texts that a client sent again though it had their answer."""
        answered: set[str] = set()
        again: list[str] = []
        for each in self.requests:
            again += [text for text in each.texts if text in answered]
            if each.status == HTTPStatus.OK:
                answered.update(each.texts)
        return again

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[RecordingRelay]:
        """Relay while the block lasts."""
        async with httpx.AsyncClient(
            base_url=self.target_url, timeout=FORWARD_SECONDS, trust_env=False, verify=NO_AUTHORITIES
        ) as http:
            self._http = http
            server = await asyncio.start_server(self._accept, self.host, 0, ssl=self.tls)
            self.port = server.sockets[0].getsockname()[1]
            try:
                yield self
            finally:
                server.close()
                for each in self._connections:
                    each.cancel()
                await asyncio.gather(*self._connections, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            while True:
                await self._pass_on(reader, writer)
        except (OSError, asyncio.IncompleteReadError, httpx.TransportError):
            pass  # either end is gone, and so the other's connection ends
        finally:
            self._connections.discard(task)
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, target, _ = head[0].split(" ")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
        content = await reader.readexactly(int(headers.get("content-length", "0")))
        noted = Relayed(target, headers, json.loads(content or b"{}"))
        self.requests.append(noted)
        if noted.texts and self.refusals:
            response = _refused(self.refusals.popleft())
        else:
            passed = {name: value for name, value in headers.items() if name not in NOT_PASSED_ON}
            response = await self._http.request(
                method, httpx.URL(target).raw_path.decode(), content=content, headers=passed
            )
        lines = [f"HTTP/1.1 {response.status_code} Relayed", f"Content-Length: {len(response.content)}"]
        lines += [f"{name}: {value}" for name, value in response.headers.items() if name not in NOT_PASSED_ON]
        writer.write("\r\n".join([*lines, "", ""]).encode("latin-1") + response.content)
        await writer.drain()
        noted.status, noted.answer = response.status_code, response.json()


def _refused(refusal: Refusal) -> httpx.Response:
    problem = {"type": f"urn:pairway:{refusal.code}", "title": "Said so", "status": refusal.status}
    return httpx.Response(
        refusal.status,
        headers={"Retry-After": str(refusal.retry_after)},
        json={**problem, "code": refusal.code, "detail": f"The relay says {refusal.code}."},
    )
