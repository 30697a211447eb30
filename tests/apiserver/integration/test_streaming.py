"""POST /translate with Accept: text/event-stream on the real API server, with scripted engines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from typing_extensions import override

from apiserver.engine.interface import GenerationRequest, GenerationResult
from tests.apiserver.conftest import Served, SettingsFor, serving
from tests.proxy.proxies import proxy
from tests.support.event_streams import StreamedAnswer, open_stream, request_stream
from tests.support.scripted_engine import FRAME, ScriptedEngine, ScriptedFactory
from tests.support.waiting import again_where_paused, wait_until


class Holding(ScriptedEngine):
    """Keeps texts with the word "slow" until its second gate opens."""

    def __init__(self, entry: Any) -> None:
        super().__init__(entry)
        self.slow = asyncio.Event()
        self.given_up = 0

    @override
    async def generate(self, request: GenerationRequest, request_id: str) -> GenerationResult:
        if "slow" in "".join(chr(token) for token in request.prompt_ids if token < FRAME):
            try:
                await self.slow.wait()
            except asyncio.CancelledError:
                self.given_up += 1
                raise
        return await super().generate(request, request_id)


class HoldingFactory(ScriptedFactory):
    @override
    async def __call__(self, entry: Any) -> ScriptedEngine:
        engine = Holding(entry)
        self.engines[entry.name].append(engine)
        return engine


@pytest.fixture
async def held(settings_for: SettingsFor) -> AsyncIterator[tuple[Served, Holding]]:
    factory = HoldingFactory()
    async with serving(factory, settings_for()) as running:
        await running.until_ready()
        engine = factory.engine("en-de")
        assert isinstance(engine, Holding)
        yield running, engine


def body(text: object, /, **changes: object) -> dict[str, object]:
    return {"text": text, "source_lang": "en", "target_lang": "de", **changes}


async def ask(served: Served, text: object, **headers: str) -> StreamedAnswer:
    return await request_stream(served.client, body(text), **headers)


@pytest.mark.parametrize(
    ("changes", "status", "code"),
    [
        ({"target_lang": "es"}, 404, "unknown-pair"),
        ({"target": "de"}, 422, "invalid-request"),
        ({"text": []}, 422, "invalid-request"),
        ({"text": ["a"] * 257}, 413, "too-large"),
        ({"source_lang": "auto"}, 422, "invalid-request"),
    ],
)
async def test_error_before_the_first_delta_is_an_ordinary_problem(
    served: Served, changes: dict[str, object], status: int, code: str
) -> None:
    heard = await request_stream(served.client, body("Hello", **changes))
    assert (heard.status, heard.problem["code"]) == (status, code)
    assert heard.headers["content-type"] == "application/problem+json"


async def test_unusable_text_is_502_or_null_without_deltas(served: Served, factory: ScriptedFactory) -> None:
    engine = factory.engine("en-de")
    answer = engine.answer
    engine.answer = lambda asked: GenerationResult("", "stop") if "bad" in asked.text else answer(asked)
    heard = await ask(served, "bad")
    assert (heard.status, heard.problem["code"]) == (502, "unusable-output")
    heard = await ask(served, ["good", "bad"])
    assert [one["translation"] is None for one in heard.result["results"]] == [False, True]
    assert heard.deltas.keys() == {0}


async def test_engine_death_in_mid_stream_is_an_error_event(held: tuple[Served, Holding]) -> None:
    served, engine = held
    async with open_stream(served.port, body(["quick", "slow"])) as listener:
        await listener.until(b"event: delta")
        engine.die()
        engine.slow.set()
        assert b'"code":"pair-unavailable"' in await listener.until(b"\r\n0\r\n\r\n")


async def test_deadline_in_mid_stream_is_an_error_event(held: tuple[Served, Holding]) -> None:
    served, engine = held

    async def is_late() -> None:
        engine.given_up = 0
        heard = await ask(served, ["quick", "slow"], x_timeout_ms="2000")
        assert heard.names == ["delta", "error"]
        assert (heard.last[1]["code"], heard.last[1]["status"]) == ("deadline-exceeded", 504)
        assert engine.given_up == 1

    await again_where_paused(is_late)
    assert (await served.report())["in_flight"] == 0


@pytest.mark.parametrize("text", [["quick", "slow"], ["slow", "slow"], "slow"])
async def test_client_disconnect_aborts_the_engine(held: tuple[Served, Holding], text: list[str] | str) -> None:
    served, engine = held
    slow = 1 if isinstance(text, str) else text.count("slow")
    async with open_stream(served.port, body(text)) as listener:
        if "quick" in text:
            await listener.until(b"event: delta")

        async def in_flight() -> bool:
            return (await served.report())["in_flight"] > 0

        await wait_until(in_flight, 5)
    await wait_until(lambda: engine.given_up == slow, 5, "the engine's requests are aborted")

    async def counted() -> bool:
        metrics = (await served.client.get("/metrics")).text
        return 'requests_total{class="client",outcome="client-gone",pair="en-de"} 1.0' in metrics

    await wait_until(counted, 5, "client-gone")
    assert (await served.report())["in_flight"] == 0


async def test_each_text_is_sent_as_soon_as_it_is_final(held: tuple[Served, Holding]) -> None:
    served, engine = held
    async with open_stream(served.port, body(["slow", "quick"])) as listener:
        taken = await listener.until(b"event: delta")
        assert b'{"index":1,' in taken
        assert b'"index":0' not in taken
        engine.slow.set()
        await listener.until(b"event: result")
    for text in ("Hello", ["Hello", "", "there"], " \n", "123"):
        assert (await ask(served, text)).result == (await served.translate(text)).json()


async def test_long_request_gets_a_longer_deadline(settings_for: SettingsFor) -> None:
    factory = HoldingFactory()
    quick = settings_for(request_timeout=0.2, queue_seconds=0.2, seconds_per_1000_chars=100.0, max_request_timeout=0.6)
    async with serving(factory, quick) as served:
        await served.until_ready()
        assert "0.2 s" in (await served.translate("slow")).json()["detail"]
        assert "0.6 s" in (await served.translate(["slow"] + ["x" * 100] * 20)).json()["detail"]


async def test_stream_through_the_proxy_is_the_same(held: tuple[Served, Holding]) -> None:
    served, engine = held
    async with proxy([f"http://127.0.0.1:{served.port}"]) as running:
        for text in ("Hello", ["Hello", "there", " "]):
            heard = await request_stream(running.client, body(text))
            assert heard.result == (await served.translate(text)).json()
        async with open_stream(running.serving.port, body(["quick", "slow"])) as listener:
            await listener.until(b"event: delta")
        await wait_until(lambda: engine.given_up == 1, 5, "the engine's request is aborted")

        async def is_late() -> None:
            heard = await request_stream(running.client, body(["quick", "slow"]), x_timeout_ms="2000")
            assert (heard.names, heard.last[1]["code"]) == (["delta", "error"], "deadline-exceeded")

        await again_where_paused(is_late)
