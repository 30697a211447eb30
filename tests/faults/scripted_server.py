"""A real API server process whose engine is scripted: ``python -m tests.faults.scripted_server CONTROL_PORT``.

Settings come from ``APISERVER_*`` as ever. Through its control port it takes ``delay`` (seconds of a translation) and
``hung`` (the engine makes no step while HTTP answers, and so does every engine that is started in its place), and reports
``steps``, ``running``, ``aborted`` (ids of requests whose work the engine dropped), ``engines`` (started so far) and
``tasks`` (of its event loop).
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from typing import Any

from typing_extensions import override

from apiserver.app import create_app
from apiserver.catalog.model_entry import ModelEntry
from apiserver.engine.interface import GenerationRequest, GenerationResult
from apiserver.settings import ApiServerSettings
from tests.faults.control import controlled
from tests.faults.launch import launch
from tests.support.scripted_engine import Asked, ScriptedEngine

DELAY_SECONDS = 0.02
# A slow engine makes steps all the same; a real one's take some milliseconds.
STEP_SECONDS = 0.02


class _Forgetful(list[Asked]):
    """Holds nothing: a soak asks 50,000 times."""

    @override
    def append(self, object: Asked, /) -> None:
        pass


class SteppingEngine(ScriptedEngine):
    """Makes a step every 20 ms of a translation; knows whose work it dropped."""

    steps: int

    def __init__(self, entry: ModelEntry, aborted: deque[str]) -> None:
        super().__init__(entry)
        self.asked = _Forgetful()
        self.aborted_ids = aborted

    @override
    async def generate(self, request: GenerationRequest, request_id: str) -> GenerationResult:
        try:
            return await super().generate(request, request_id)
        except asyncio.CancelledError:
            self.aborted_ids.append(request_id)
            raise

    @override
    async def _pause(self) -> None:
        done = 0.0
        await self.gate.wait()
        while done < self.delay:  # as it is now: what is slow no more ends soon
            await asyncio.sleep(STEP_SECONDS)
            await self.gate.wait()
            done += STEP_SECONDS
            self.steps += 1


class Script:
    """What the engines do, those to come included."""

    def __init__(self) -> None:
        self.delay = DELAY_SECONDS
        self.hung = False
        self.engines: list[SteppingEngine] = []
        self.started = 0
        # The last 1,000; a soak has more.
        self.aborted: deque[str] = deque(maxlen=1000)

    async def start(self, entry: ModelEntry) -> SteppingEngine:
        self.engines = [engine for engine in self.engines if engine.alive]
        engine = SteppingEngine(entry, self.aborted)
        engine.max_num_seqs = int(entry.engine["max_num_seqs"])
        self.engines.append(engine)
        self.started += 1
        self._set_up(engine)
        return engine

    def apply(self, change: dict[str, Any]) -> dict[str, Any]:
        self.delay = float(change.get("delay", self.delay))
        self.hung = bool(change.get("hung", self.hung))
        for engine in self.engines:
            self._set_up(engine)
        return {
            "steps": sum(engine.steps for engine in self.engines),
            "running": sum(engine.running for engine in self.engines),
            "aborted": list(self.aborted),
            "engines": self.started,
            "tasks": len(asyncio.all_tasks()),
        }

    def _set_up(self, engine: SteppingEngine) -> None:
        engine.delay = self.delay
        if self.hung:
            engine.gate.clear()
        else:
            engine.gate.set()


def main() -> int:
    settings = ApiServerSettings()
    script = Script()
    app = create_app(settings, engine_factory=script.start)
    return launch(
        app,
        port=settings.port,
        grace_seconds=settings.max_request_timeout,
        drain=app.state.context.model_server.drain,
        drain_seconds=settings.drain_seconds,
        beside=controlled(int(sys.argv[1]), script.apply),
    )


if __name__ == "__main__":
    sys.exit(main())
