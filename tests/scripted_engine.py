"""An engine that does what a test tells it: answers, delays, death, hanging; it counts what reaches it."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry, Counter, Gauge

from apiserver.catalog import ModelEntry, Sampling
from apiserver.translator import EngineGoneError, Generation
from shared.wire import ModelReport

# Text tokens are code points; the frame's tokens lie beyond them, so that a test sees which is which.
FRAME = 2_000_000


@dataclass
class Asked:
    """One request as it reached the engine."""

    request_id: str
    before: str
    text: str
    behind: str
    max_tokens: int
    sampling: Sampling


def in_brackets(asked: Asked) -> Generation:
    return Generation(f"[{asked.text}]", [0] * (len(asked.text) + 2), "stop")


class ScriptedEngine:
    """Implements ``translator.Engine``; ``answer`` may raise, ``gate`` holds requests back, ``die`` fails them all."""

    def __init__(self, entry: ModelEntry, *, max_model_len: int = 512) -> None:
        self.entry = entry
        self.answer: Callable[[Asked], Generation] = in_brackets
        self.template: Callable[[str], str] = "<user>{}<assistant>".format
        self.delay = 0.0
        self.gate = asyncio.Event()
        self.gate.set()
        self.asked: list[Asked] = []
        self.running = 0
        self.most_running = 0
        self.aborted = 0
        self.steps = 0
        self.stopped = 0
        self.max_model_len = max_model_len
        self.longest_token = 1
        self._death = asyncio.Event()
        self.metrics = CollectorRegistry()
        labels = ["model_name", "engine"]
        self._gauge = Gauge("vllm:num_requests_running", "Running.", labels, registry=self.metrics)
        self._gauge.labels(entry.name, "0").set(0)
        self._counter = Counter("vllm:generation_tokens", "Tokens.", labels, registry=self.metrics)
        self._counter.labels(entry.name, "0").inc(7)

    @property
    def alive(self) -> bool:
        return not self._death.is_set()

    def die(self) -> None:
        """Fail everything in flight and to come."""
        self._death.set()

    def encode_text(self, text: str) -> list[int]:
        return [ord(char) for char in text]

    def encode_control(self, text: str) -> list[int]:
        return [FRAME + ord(char) for char in text]

    def chat_template(self, message: str) -> str:
        return self.template(message)

    async def generate(self, prompt_ids: list[int], sampling: Sampling, max_tokens: int, request_id: str) -> Generation:
        asked = _read(prompt_ids, sampling, max_tokens, request_id)
        self.asked.append(asked)
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            await self._wait_or_die()
            self.steps += 1
            return self.answer(asked)
        except asyncio.CancelledError:
            self.aborted += 1
            raise
        finally:
            self.running -= 1

    async def _wait_or_die(self) -> None:
        death = asyncio.create_task(self._death.wait())
        pause = asyncio.create_task(self._pause())
        try:
            await asyncio.wait({death, pause}, return_when=asyncio.FIRST_COMPLETED)
            if self._death.is_set():
                raise EngineGoneError("scripted death")
        finally:
            for task in (death, pause):
                task.cancel()
            await asyncio.gather(death, pause, return_exceptions=True)

    async def _pause(self) -> None:
        await self.gate.wait()
        await asyncio.sleep(self.delay)

    def progress(self) -> ModelReport:
        return ModelReport(
            running=self.running,
            waiting=0,
            limit=4,
            steps=self.steps,
            step_age_s=None,
            kv_used=0.0,
            revision=None,
        )

    async def stop(self) -> None:
        self.stopped += 1
        self.die()


def _read(prompt_ids: list[int], sampling: Sampling, max_tokens: int, request_id: str) -> Asked:
    at = [index for index, token in enumerate(prompt_ids) if token < FRAME]
    first, last = at[0], at[-1] + 1
    before, text, behind = prompt_ids[:first], prompt_ids[first:last], prompt_ids[last:]
    assert all(token < FRAME for token in text), "a control token stands inside the text"
    return Asked(
        request_id,
        "".join(chr(token - FRAME) for token in before),
        "".join(map(chr, text)),
        "".join(chr(token - FRAME) for token in behind),
        max_tokens,
        sampling,
    )


@dataclass
class ScriptedFactory:
    """Starts scripted engines; ``failures`` are raised first, ``prepare`` sets each engine up, ``gates`` hold starts."""

    prepare: Callable[[ScriptedEngine], None] = lambda _: None
    failures: dict[str, list[Exception]] = field(default_factory=dict)
    gates: dict[str, asyncio.Event] = field(default_factory=dict)
    engines: dict[str, list[ScriptedEngine]] = field(default_factory=lambda: defaultdict(list))
    starts: list[str] = field(default_factory=list)

    async def __call__(self, entry: ModelEntry) -> ScriptedEngine:
        self.starts.append(entry.name)
        if (gate := self.gates.get(entry.name)) is not None:
            await gate.wait()
        if failures := self.failures.get(entry.name):
            raise failures.pop(0)
        engine = ScriptedEngine(entry)
        self.prepare(engine)
        self.engines[entry.name].append(engine)
        return engine

    def engine(self, name: str) -> ScriptedEngine:
        """Return the model's newest engine."""
        return self.engines[name][-1]
