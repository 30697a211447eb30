"""An engine that does what a test asks: answers, delays, death, hanging; it counts what reaches it."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge

from apiserver.catalog.model_entry import ModelEntry
from apiserver.engine.interface import EngineGoneError, GenerationRequest, GenerationResult
from apiserver.prompts.sampling import Sampling
from shared.protocol.report import ModelReport

# Text tokens are code points; the frame's tokens lie beyond them, so that a test sees which is which.
FRAME = 2_000_000
# The control tokens of the demo prompt and of the scripted chat template.
# Log-probability of each token, where an answer has none.
SURE = -0.1
CONTROLS = ("s", "sep", "en", "de", "fr", "user", "assistant")


@dataclass
class Asked:
    """One request as it reached the engine."""

    request_id: str
    before: str
    text: str
    behind: str
    max_tokens: int
    sampling: Sampling
    priority: int = 0
    wants_logprobs: bool = False


VOCABULARY = {
    "de": ("Das", "Haus", "meines", "Freundes", "steht", "immer", "noch", "zwischen", "Wald", "und", "Garten"),
    "en": ("The", "house", "of", "my", "friend", "still", "stands", "between", "forest", "and", "garden"),
    "fr": ("La", "maison", "de", "mon", "ami", "est", "toujours", "entre", "forêt", "et", "jardin"),
}


def in_brackets(asked: Asked) -> GenerationResult:
    """Answer a word or two with themselves and more with words of the target language, in brackets; what is no word stays."""
    said = asked.text
    if said.count(" ") > 1:
        words = next(
            (words for tag, words in VOCABULARY.items() if asked.before.endswith(f"<{tag}>")), VOCABULARY["de"]
        )
        said = " ".join(
            words[number % len(words)] if word.isalpha() else word for number, word in enumerate(said.split(" "))
        )
    return GenerationResult(f"[{said}]", "stop", [0] * (len(said) + 2))


class ScriptedEngine:
    """Implements ``engine.interface.Engine``; ``answer`` may raise, ``gate`` holds all back (so it hangs), ``die`` fails them."""

    def __init__(self, entry: ModelEntry, *, max_model_len: int = 512) -> None:
        self.entry = entry
        self.answer: Callable[[Asked], GenerationResult] = in_brackets
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
        self.max_num_seqs = int(entry.engine.get("max_num_seqs", 4))
        self.controls = {f"<{name}>": FRAME + number for number, name in enumerate(CONTROLS)}
        self.begin: Sequence[int] = ()
        self._death = asyncio.Event()
        self.metrics = CollectorRegistry()
        labels = ["model_name", "engine"]
        self._gauge = Gauge("vllm:num_requests_running", "Running.", labels, registry=self.metrics)
        self._gauge.labels(entry.name, "0").set(0)
        self._counter = Counter("vllm:generation_tokens", "Tokens.", labels, registry=self.metrics)
        self._counter.labels(entry.name, "0").inc(7)

    def reset(self) -> None:
        """Answer rightly and at once again, and forget what was asked."""
        self.answer, self.delay = in_brackets, 0.0
        self.gate.set()
        self.asked.clear()
        self.most_running = self.aborted = 0

    @property
    def alive(self) -> bool:
        return not self._death.is_set()

    def die(self) -> None:
        """Fail everything in flight and to come."""
        self._death.set()

    def encode_text(self, text: str, *, first: bool = True) -> list[int]:
        del first
        return [ord(char) for char in text]

    def chat_template(self, messages: Sequence[Mapping[str, str]], arguments: Mapping[str, object]) -> str:
        del arguments
        return self.template("".join(message["content"] for message in messages))

    async def generate(self, request: GenerationRequest, request_id: str) -> GenerationResult:
        asked = _read(request, request_id)
        self.asked.append(asked)
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            await self._wait_or_die(self._pause())
            self.steps += 1
            result = self.answer(asked)
            if not request.wants_logprobs:
                return replace(result, logprobs=())
            return result if result.logprobs else replace(result, logprobs=[SURE] * max(1, len(result.token_ids)))
        except asyncio.CancelledError:
            self.aborted += 1
            raise
        finally:
            self.running -= 1

    async def _wait_or_die(self, waiting: Coroutine[Any, Any, object]) -> None:
        death = asyncio.create_task(self._death.wait())
        pause = asyncio.create_task(waiting)
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

    async def ping(self) -> None:
        """Come back while the gate is open: behind a closed one nothing goes round."""
        await self._wait_or_die(self.gate.wait())

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


def _spelt(tokens: Sequence[int]) -> str:
    return "".join(f"<{CONTROLS[token - FRAME]}>" for token in tokens)


def _read(request: GenerationRequest, request_id: str) -> Asked:
    at = [index for index, token in enumerate(request.prompt_ids) if token < FRAME]
    first, last = at[0], at[-1] + 1
    before, text, behind = request.prompt_ids[:first], request.prompt_ids[first:last], request.prompt_ids[last:]
    assert all(token < FRAME for token in text), "a control token stands inside the text"
    return Asked(
        request_id,
        _spelt(before),
        "".join(map(chr, text)),
        _spelt(behind),
        request.max_tokens,
        request.sampling,
        request.priority,
        request.wants_logprobs,
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
