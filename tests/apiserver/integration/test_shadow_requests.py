"""Shadow traffic on the real app: callers never notice, and those who allow no storing never take part."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from apiserver.changes.__main__ import main
from apiserver.engine.interface import GenerationResult
from apiserver.settings import ApiServerSettings
from apiserver.shadowing.slowdown_monitor import MIN_SAMPLES
from tests.apiserver.conftest import Served, serving
from tests.conftest import RedisServer
from tests.proxy.integration.keyed_proxies import PATIENT, ask, new_key
from tests.proxy.proxies import proxy
from tests.support.scripted_engine import ScriptedEngine, ScriptedFactory
from tests.support.waiting import wait_until

TOKEN = "an-operators-token-long-enough"
OPERATOR = {"Authorization": f"Bearer {TOKEN}"}
ENGINE = "engine: {max_num_seqs: 8, kv_cache_memory_bytes: 1048576}"
CATALOG = f"""
models:
  old: {{path: ./old, pairs: [en-de, de-en], prompt: demo-tags, {ENGINE}}}
  new: {{path: ./new, pairs: [en-de, de-en], prompt: demo-tags, {ENGINE}}}
"""
PAIRS = {"en-de", "de-en"}
HOLD = {"model": "old", "entry": "new", "hold": True}
CURRENT = "/models/changes/current"
WITHIN = 20


class Cpu:
    """A machine with much memory, which need not ask vLLM for its device."""

    def available_bytes(self) -> int:
        return 64 * 1024**3

    def device(self) -> str:
        return "cpu"


@dataclass
class Shadowed:
    """A server whose model "old" serves."""

    served: Served
    factory: ScriptedFactory

    @property
    def candidate(self) -> ScriptedEngine:
        return self.factory.engine("new")

    @property
    def asked(self) -> list[str]:
        """The texts that the candidate was asked for."""
        return [asked.text for asked in self.candidate.asked]

    async def operate(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        answer = await self.served.client.request(method, path, json=body, headers=OPERATOR)
        assert answer.status_code in {200, 202}, answer.text
        return answer.json()

    async def hold(self) -> None:
        """Load the candidate, and forget its canaries."""
        await self.operate("POST", "/models/changes", HOLD)

        async def held() -> bool:
            change = (await self.operate("GET", "/models"))["change"]
            return change is not None and change["step"] == "held"

        await wait_until(held, WITHIN, "the candidate is held")
        self.candidate.asked.clear()

    async def hold_with_baseline(self) -> None:
        """Load the candidate, and send what callers' latency is measured by."""
        await self.hold()
        for _ in range(MIN_SAMPLES):
            await self.translate("baseline", headers={"Cache-Control": "no-store"})

    async def ended(self) -> None:
        async def is_over() -> bool:
            return (await self.operate("GET", "/models"))["change"] is None

        await wait_until(is_over, WITHIN, "the change ended")

    async def line(self, name: str) -> dict[str, Any]:
        models = (await self.operate("GET", "/models"))["models"]
        return next(model for model in models if model["name"] == name)

    async def report(self, pair: str = "en-de") -> dict[str, Any]:
        by_pair: dict[str, Any] = (await self.line("new"))["shadow"] or {}
        return by_pair.get(pair, {})

    async def until_compared(self, texts: int) -> dict[str, Any]:
        async def compared() -> dict[str, Any] | None:
            report = await self.report()
            return report if report.get("texts") == texts else None

        await wait_until(compared, WITHIN, f"{texts} compared")
        return await self.report()

    async def translate(self, text: str, **sent: Any) -> dict[str, Any]:
        answer = await self.served.translate(text, **sent)
        assert answer.status_code == 200, answer.text
        return answer.json()


@asynccontextmanager
async def shadowed(
    factory: ScriptedFactory, settings_for: Callable[..., ApiServerSettings], tmp_path: Path, share: float = 1.0
) -> AsyncGenerator[Shadowed]:
    for folder in ("old", "new"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "config.json").write_text("{}")
        (tmp_path / folder / "model.safetensors").write_text(folder)
    settings = settings_for(CATALOG, models=("old",), operator_token=TOKEN, shadow_share=share)
    async with serving(factory, settings, Cpu()) as served:
        await served.until_ready(PAIRS)
        yield Shadowed(served, factory)


async def test_held_candidate_is_compared_and_reported(
    factory: ScriptedFactory, settings_for: Callable[..., ApiServerSettings], tmp_path: Path
) -> None:
    async with shadowed(factory, settings_for, tmp_path) as running:
        await running.translate("before")
        await running.hold_with_baseline()
        assert (await running.translate("Hello"))["model"] == "old"
        report = await running.until_compared(1)
        assert (report["agreement"], report["equal"], report["failed"]) == (1.0, 1.0, {})
        assert report["serving"]["p50_s"] > 0
        assert running.asked == ["Hello"]
        assert (await running.line("old"))["shadow"] is None
        assert (
            'shadow_texts_total{outcome="compared",pair="en-de"} 1.0'
            in (await running.served.client.get("/metrics")).text
        )


async def test_command_line_lists_the_comparison(
    factory: ScriptedFactory,
    settings_for: Callable[..., ApiServerSettings],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    async with shadowed(factory, settings_for, tmp_path) as running:
        monkeypatch.setenv("APISERVER_PORT", str(running.served.port))
        monkeypatch.setenv("APISERVER_OPERATOR_TOKEN", TOKEN)
        await running.translate("before")
        await running.hold_with_baseline()
        await running.translate("Hello")
        await running.until_compared(1)
        assert await asyncio.to_thread(main, ["list"]) == 0
        assert "  en-de  shadow: 1 texts; agreement 1.00; equal 100%; serving (p50 " in capsys.readouterr().out


async def test_no_share_is_no_shadow_traffic(
    factory: ScriptedFactory, settings_for: Callable[..., ApiServerSettings], tmp_path: Path
) -> None:
    async with shadowed(factory, settings_for, tmp_path, share=0.0) as running:
        assert running.served.app.state.context.model_server.shadow is None
        await running.hold_with_baseline()
        await running.translate("Hello")
        assert (await running.line("new"))["shadow"] is None
        assert running.asked == []


async def test_statistics_begin_again_with_the_next_candidate(
    factory: ScriptedFactory, settings_for: Callable[..., ApiServerSettings], tmp_path: Path
) -> None:
    async with shadowed(factory, settings_for, tmp_path) as running:
        await running.hold_with_baseline()
        await running.translate("Hello")
        await running.until_compared(1)
        await running.operate("DELETE", CURRENT)
        await running.ended()
        await running.translate("between")
        await running.hold()
        assert await running.report() == {}


async def test_switched_candidate_is_shadowed_no_more(
    factory: ScriptedFactory, settings_for: Callable[..., ApiServerSettings], tmp_path: Path
) -> None:
    async with shadowed(factory, settings_for, tmp_path) as running:
        await running.hold_with_baseline()
        await running.operate("POST", f"{CURRENT}/switch")
        await running.ended()
        running.candidate.asked.clear()
        assert (await running.translate("Hello"))["model"] == "new"
        assert running.asked == ["Hello"]


async def test_held_load_is_not_in_the_report_for_proxies(
    factory: ScriptedFactory, settings_for: Callable[..., ApiServerSettings], tmp_path: Path
) -> None:
    async with shadowed(factory, settings_for, tmp_path) as running:
        await running.hold_with_baseline()
        running.candidate.gate.clear()
        await running.translate("Hello")
        await wait_until(lambda: running.candidate.running == 1, WITHIN, "the candidate is busy")
        report = await running.served.report()
        assert report["in_flight"] == 0
        assert set(report["models"]) == {"old"}
        running.candidate.gate.set()
        await running.until_compared(1)


async def test_caller_is_answered_while_the_candidate_hangs(
    factory: ScriptedFactory, settings_for: Callable[..., ApiServerSettings], tmp_path: Path
) -> None:
    async with shadowed(factory, settings_for, tmp_path) as running:
        await running.hold_with_baseline()
        running.candidate.gate.clear()
        for number in range(10):
            assert (await running.translate(f"text {number}"))["model"] == "old"
        await wait_until(lambda: running.candidate.running == 4, WITHIN, "as many as may")
        assert (await running.report())["dropped"] == {"opted-out": MIN_SAMPLES, "full": 6}
    # The server stopped with shadow requests in flight: they were cancelled.
    assert running.candidate.running == 0


async def test_unusable_output_is_compared_too(
    factory: ScriptedFactory, settings_for: Callable[..., ApiServerSettings], tmp_path: Path
) -> None:
    async with shadowed(factory, settings_for, tmp_path) as running:
        await running.hold_with_baseline()
        factory.engine("old").answer = lambda _: GenerationResult("", "stop")
        assert (await running.served.translate("Hello")).status_code == 502
        report = await running.until_compared(1)
        assert (report["agreement"], report["serving"]["warnings"]) == (0.0, {"output-empty": 1})


async def test_stream_is_compared_too(
    factory: ScriptedFactory, settings_for: Callable[..., ApiServerSettings], tmp_path: Path
) -> None:
    async with shadowed(factory, settings_for, tmp_path) as running:
        await running.hold_with_baseline()
        answer = await running.served.translate("Hello", headers={"Accept": "text/event-stream"})
        assert "result" in answer.text
        await running.until_compared(1)


async def test_no_store_keeps_a_direct_client_out(
    factory: ScriptedFactory, settings_for: Callable[..., ApiServerSettings], tmp_path: Path
) -> None:
    async with shadowed(factory, settings_for, tmp_path) as running:
        await running.hold_with_baseline()
        await running.translate("private", headers={"Cache-Control": "private, No-Store"})
        await running.translate("public")
        report = await running.until_compared(1)
        assert report["dropped"] == {"opted-out": MIN_SAMPLES + 1}
        assert running.asked == ["public"]


async def test_key_without_caching_stays_out_through_the_proxy(
    factory: ScriptedFactory, settings_for: Callable[..., ApiServerSettings], tmp_path: Path, redis: RedisServer
) -> None:
    async with shadowed(factory, settings_for, tmp_path) as running:
        await running.hold_with_baseline()
        async with proxy([f"http://127.0.0.1:{running.served.port}"], redis.url, **PATIENT) as front:
            private, _ = await new_key(front, cached=False)
            public, _ = await new_key(front)
            for shown, text in ((private, "private"), (public, "public")):
                assert (await ask(front, shown, text))[0] == 200
            report = await running.until_compared(1)
            assert report["dropped"] == {"opted-out": MIN_SAMPLES + 1}
            assert running.asked == ["public"]
