"""A server whose models an operator changes, its catalog, and its memory as a test says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests.apiserver.conftest import Served
from tests.support.scripted_engine import ScriptedEngine, ScriptedFactory
from tests.support.waiting import wait_until

TOKEN = "an-operators-token-long-enough"
ENGINE = "engine: {max_num_seqs: 4, kv_cache_memory_bytes: 1048576}"
CATALOG = f"""
models:
  en-de: {{path: ./v1, pairs: [en-de, de-en], prompt: demo-tags, {ENGINE}}}
  en-fr: {{path: ./fr, pairs: [en-fr, fr-en], prompt: demo-tags, {ENGINE}}}
"""
# Another entry for German in the place of the first, with other weights.
RENAMED = CATALOG.replace("en-de: {path: ./v1", "en-de-v2: {path: ./v2")
MIB = 1024**2
PLENTY = 64 * 1024 * MIB
WITHIN = 20


@dataclass
class FakeMemory:
    """What the machine has, as a test says."""

    available: int = PLENTY
    kind: str = "cpu"

    def available_bytes(self) -> int:
        return self.available

    def device(self) -> str:
        return self.kind


@dataclass
class Operated:
    """A server whose models an operator changes."""

    served: Served
    factory: ScriptedFactory
    memory: FakeMemory
    catalog: Path

    async def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> httpx.Response:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        return await self.served.client.request(method, path, json=body, headers=headers)

    async def reload(self, catalog: str | None = None, **order: object) -> httpx.Response:
        """Order a reload, of another catalog if one is given."""
        if catalog is not None:
            self.catalog.write_text(catalog)
        return await self.call("POST", "/models/reload", order)

    async def cancel(self) -> httpx.Response:
        return await self.call("DELETE", "/models/reload")

    async def models(self) -> dict[str, Any]:
        answer = await self.call("GET", "/models")
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def ended(self) -> dict[str, Any]:
        """Return the last reload once none runs."""

        async def last() -> dict[str, Any]:
            models = await self.models()
            return models["last_reload"] if models["reload"] is None else {}

        return await wait_until(last, WITHIN, "the reload ended")

    async def change_ended(self) -> dict[str, Any]:
        """Return the only change of the last reload once none runs."""
        (change,) = (await self.ended())["changes"]
        return change

    async def until_step(self, step: str) -> None:
        async def reached() -> bool:
            reload = (await self.models())["reload"]
            return reload is not None and any(change["step"] == step for change in reload["changes"])

        await wait_until(reached, WITHIN, step)

    async def states(self) -> dict[str, str]:
        return {model["name"]: model["state"] for model in (await self.models())["models"]}

    async def model_of(self, text: str = "Hello") -> str:
        answer = await self.served.translate(text)
        assert answer.status_code == 200, answer.text
        return answer.json()["model"]

    async def with_request_in_flight(self) -> tuple[ScriptedEngine, asyncio.Task[httpx.Response]]:
        """Return the engine of en-de and a request that it finishes once its gate opens."""
        engine = self.factory.engine("en-de")
        engine.gate.clear()
        waiting = asyncio.create_task(self.served.translate("Hello"))
        await wait_until(lambda: engine.running == 1, WITHIN)
        return engine, waiting

    async def metrics(self) -> str:
        return (await self.served.client.get("/metrics")).text


def problem(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


def failing_stop(engine: ScriptedEngine) -> Callable[[], Coroutine[Any, Any, None]]:
    """Return a stop that ends the engine, and raises."""

    async def stop() -> None:
        await ScriptedEngine.stop(engine)
        raise OSError("it does not end")

    return stop
