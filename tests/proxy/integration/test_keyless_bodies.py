"""Bodies that are read before their key is known: who holds most is refused first, and nobody else."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import AsyncGenerator, Sequence
from typing import Any, ClassVar
from urllib.parse import urlencode

import httpx
import pytest

from proxy.admission.keyless_bodies import FIRST_BYTES, MAX_REQUESTS
from proxy.exchange import exchange
from proxy.translation.detection import DetectionService
from tests.conftest import RedisServer
from tests.proxy.integration.keyed_proxies import NOBODY, guarded_fleet, new_key
from tests.proxy.proxies import RunningProxy, proxy
from tests.support.waiting import wait_until

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
LIBRE, DEEPL = "/libretranslate/translate", "/v2/translate"
LONGEST = 2_097_152
MIB = 1024 * 1024
CHINESE = "你好世界,我们今天去北京。" * 8_462  # 110,000 characters, a megabyte when percent-encoded
ANSWER_SECONDS = 60.0
# Of a body that is neither in time nor in order: a test that needs it fails.
SHORT_SECONDS = 0.05


@pytest.fixture
async def running(redis: RedisServer) -> AsyncGenerator[RunningProxy]:
    async with guarded_fleet(redis.url, "en>de", "zh>de") as (one, _):
        yield one


@pytest.fixture(autouse=True)
async def opened(monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[None]:
    """Close all connections that a test opens."""
    writers: list[asyncio.StreamWriter] = []
    monkeypatch.setattr(Sender, "writers", writers)
    yield
    for writer in writers:
        writer.transport.abort()
    await asyncio.gather(*(writer.wait_closed() for writer in writers), return_exceptions=True)


class Sender:
    """A connection from an address of its own, with a body that is not at its end."""

    writers: ClassVar[list[asyncio.StreamWriter]] = []

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.writers.append(writer)

    async def answer(self) -> tuple[int, dict[str, str], Any]:
        """Wait for the answer: its status, headers and JSON."""
        async with asyncio.timeout(ANSWER_SECONDS):
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
            body = await self.reader.readexactly(int(headers["content-length"]))
        return int(head[0].split()[1]), headers, json.loads(body)


async def send(
    running: RunningProxy,
    body: bytes,
    address: str = "127.0.0.1",
    *,
    path: str = LIBRE,
    length: int = 0,
    **headers: str,
) -> Sender:
    """Send a head and a body, which goes on if it is declared with a greater length."""
    reader, writer = await asyncio.open_connection("127.0.0.1", running.serving.port, local_addr=(address, 0))
    kind = headers.pop("kind", FORM["Content-Type"])
    more = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\n{more}Content-Length: {length or len(body)}"
    writer.write(head.encode() + b"\r\n\r\n" + body)
    await writer.drain()
    return Sender(reader, writer)


async def hold(running: RunningProxy, addresses: Sequence[str], size: int, **how: Any) -> list[Sender]:
    """Hold an unfinished body of each address, all of it sent but the last byte."""
    bodies = running.context.process.keyless_bodies
    before = bodies.held
    body = b"q=" + b"a" * (size - 3)
    senders = await asyncio.gather(*(send(running, body, each, length=size, **how) for each in addresses))
    await wait_until(lambda: bodies.held == before + len(addresses) * len(body), 60, "all bodies are held")
    return list(senders)


def refusals(running: RunningProxy, reason: str) -> float:
    name = "pairway_proxy_keyless_refusals_total"
    return running.context.process.metrics.registry.get_sample_value(name, {"reason": reason}) or 0.0


async def ask(running: RunningProxy, shown: str, path: str = LIBRE, address: str = "127.0.0.1") -> httpx.Response:
    """Ask as a client whose key is the last field of its form."""
    asked: dict[str, Any] = {"q": "Hello", "source": "en", "target": "de", "api_key": shown}
    if path == DEEPL:
        asked = {"text": "Hello", "target_lang": "DE", "auth_key": shown}
    transport = httpx.AsyncHTTPTransport(local_address=address)
    async with httpx.AsyncClient(base_url=running.url, transport=transport, timeout=60) as client:
        return await client.post(path, content=urlencode(asked), headers=FORM)


async def test_long_forms_are_served_beside_50_full_networks(running: RunningProxy) -> None:
    shown, _ = await new_key(running)
    libre = urlencode({"q": CHINESE, "source": "zh", "target": "de", "api_key": shown})
    texts = [("text", CHINESE[n::6]) for n in range(6)]
    deepl = urlencode([*texts, ("source_lang", "ZH"), ("target_lang", "DE"), ("auth_key", shown)])
    assert min(len(libre), len(deepl)) > 900_000
    await hold(running, [f"127.0.1.{n}" for n in range(1, 51)], LONGEST)
    answer = await running.client.post(LIBRE, content=libre, headers=FORM)
    assert answer.status_code == 200, answer.text
    answer = await running.client.post(DEEPL, content=deepl, headers=FORM)
    assert (answer.status_code, len(answer.json()["translations"])) == (200, 6)
    for path in (LIBRE, DEEPL):
        assert (await ask(running, shown, path)).status_code == 200
    assert refusals(running, "bytes") == 0


async def test_three_slow_connections_switch_nobody_off(running: RunningProxy) -> None:
    shown, _ = await new_key(running)
    slow = await hold(running, ["127.0.0.1"] * 3, LONGEST)
    for path in (LIBRE, DEEPL):
        assert (await ask(running, shown, path)).status_code == 200
    usage = await running.client.post("/v2/usage", content=f"auth_key={shown}", headers=FORM)
    assert usage.status_code == 200
    for each in slow:
        each.writer.transport.abort()
    await wait_until(lambda: running.context.process.keyless_bodies.held == 0, 60, "nothing is held")


async def test_network_that_holds_most_is_refused_first(redis: RedisServer) -> None:
    async with guarded_fleet(redis.url, "en>de", max_keyless_bytes=8 * MIB) as (running, _):
        shown, _ = await new_key(running)
        greedy, modest = ["127.0.1.1"], ["127.0.1.2", "127.0.1.3"]
        others, older = await hold(running, modest, LONGEST), await hold(running, greedy, LONGEST)
        [newest] = await hold(running, greedy, LONGEST)
        form = urlencode({"q": "a " * 100_000, "source": "en", "target": "de", "api_key": shown})
        answer = await running.client.post(LIBRE, content=form, headers=FORM)
        assert answer.status_code == 200
        status, headers, body = await newest.answer()
        assert (status, headers["retry-after"], list(body)) == (503, "1", ["error"])
        assert "header Authorization" in body["error"]
        assert refusals(running, "bytes") == 1
        for each in (*others, *older):
            each.writer.write(b"a")
            assert (await each.answer())[0] == 400, "it has no key, but is read to its end"


@pytest.mark.parametrize(("path", "member"), [(LIBRE, "error"), (DEEPL, "message"), ("/translate", "code")])
async def test_65th_request_of_a_network_is_refused(running: RunningProxy, path: str, member: str) -> None:
    shown, _ = await new_key(running)
    busy = "127.0.1.9"
    kind = "application/json" if path == "/translate" else FORM["Content-Type"]
    await hold(running, [busy] * MAX_REQUESTS, 4_000, path=path, kind=kind)
    status, headers, body = await (await send(running, b"q=", busy, path=path, kind=kind, length=9)).answer()
    assert (status, headers["retry-after"], member in body) == (429, "1", True)
    assert (await ask(running, shown, LIBRE, busy)).status_code == 429
    assert (await ask(running, shown, LIBRE)).status_code == 200, "another network"
    asked = json.dumps({"text": "Hello", "source_lang": "en", "target_lang": "de"}).encode()
    key: dict[str, Any] = {"Authorization": f"Bearer {shown}", "kind": "application/json"}
    known = await send(running, asked, busy, path="/translate", **key)
    assert (await known.answer())[0] == 200, "a key in the header is known before"
    assert refusals(running, "network") == 2


@pytest.mark.parametrize("length", [FIRST_BYTES, 2 * FIRST_BYTES])
@pytest.mark.parametrize(("path", "status"), [(LIBRE, 400), (DEEPL, 504), ("/libretranslate/detect", 400)])
async def test_slow_first_bytes_are_cut(
    running: RunningProxy, monkeypatch: pytest.MonkeyPatch, path: str, status: int, length: int
) -> None:
    monkeypatch.setattr(exchange, "FIRST_SECONDS", SHORT_SECONDS)
    shown, _ = await new_key(running)
    rest = f"&source=en&target=de&api_key={shown}".encode()
    long = b"q=" + b"a " * FIRST_BYTES
    patient = await send(running, long, "127.0.1.1", length=len(long) + len(rest))
    slow = await send(running, b"q=a", path=path, length=length)
    answer = await slow.answer()
    assert (answer[0], answer[1]["retry-after"]) == (status, "1")
    assert refusals(running, "slow") == 1
    patient.writer.write(rest)
    assert (await patient.answer())[0] == 200, "what is longer than the first bytes has the request's own time"


async def test_slow_body_of_a_known_key_is_not_cut(running: RunningProxy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "FIRST_SECONDS", SHORT_SECONDS)
    shown, _ = await new_key(running)
    body = json.dumps({"q": "Hello", "source": "en", "target": "de"}).encode()
    key: dict[str, Any] = {"Authorization": f"Bearer {shown}", "kind": "application/json"}
    known = await send(running, body[:-1], length=len(body), **key)
    await wait_until(lambda: running.context.process.body_budget.reserved == len(body) - 1, 60, "the body is read")
    assert running.context.process.keyless_bodies.held == 0
    assert (await (await send(running, b"q=a", length=9)).answer())[0] == 400, "another's time is over"
    known.writer.write(body[-1:])
    assert (await known.answer())[0] == 200


async def test_detection_of_a_known_caller_changes_its_budget(
    running: RunningProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown, _ = await new_key(running)
    process, detect = running.context.process, DetectionService.detect
    seen: list[tuple[int, bool]] = []

    async def observe(service: DetectionService, *arguments: Any) -> Any:
        seen.append((process.keyless_bodies.held, process.body_budget.reserved > 0))
        return await detect(service, *arguments)

    monkeypatch.setattr(DetectionService, "detect", observe)
    answer = await running.client.post("/libretranslate/detect", json={"q": "Good morning", "api_key": shown})
    assert (answer.status_code, seen) == (200, [(0, True)])


@pytest.mark.parametrize("prefix", ["", "/v2", "/v3"])
async def test_glossaries_have_one_deadline(redis: RedisServer, prefix: str) -> None:
    async with proxy([NOBODY], redis.url, ready=False) as running:
        word = {"Authorization": "Bearer a-word", "kind": "application/json", "X_Timeout_Ms": "200"}
        slow = await send(running, b"{", path=f"{prefix}/glossaries", length=99, **word)
        assert (await slow.answer())[0] == 504, "the body's time is the request's"


@pytest.mark.parametrize("prefix", ["", "/v2", "/v3"])
async def test_calls_of_the_glossary_store_stand_under_it(own_redis: RedisServer, prefix: str) -> None:
    async with proxy([NOBODY], own_redis.url, ready=False, redis_timeout=5.0) as running:
        own_redis.server.signal(signal.SIGSTOP)
        try:
            headers = {"Authorization": "Bearer a-word", "X-Timeout-Ms": "200"}
            answer = await running.client.get(f"{prefix}/glossaries", headers=headers)
        finally:
            own_redis.server.signal(signal.SIGCONT)
        assert answer.status_code == 504
