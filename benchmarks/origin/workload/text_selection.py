"""The run's texts: chosen so that each segment needs exactly one engine request, guards or not, and kept in a file.

``python -m benchmarks.origin.workload.text_selection`` starts the model's engine and puts candidates through Pairway's whole pipeline; what
a guard would have asked again is left out. So no design makes a request that another one does not.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, cast

from prometheus_client import CollectorRegistry

from apiserver.catalog.model_entry import ModelEntry
from apiserver.engine.interface import GenerationRequest, GenerationResult
from apiserver.engine.prompt_encoder import PromptEncoder, sampling_for
from apiserver.engine.step_metrics import StepCounter
from apiserver.engine.vllm_engine import ENVIRONMENT, VllmEngine
from apiserver.guards.output_language import OutputLanguage
from apiserver.guards.quality_guard import QualityGuard
from apiserver.metrics import ApiServerMetrics
from apiserver.protection.placeholders import Protection
from apiserver.scheduling.batch_slots import BatchSlots
from apiserver.scheduling.work_item import WorkItem
from apiserver.translation.planner import TranslateOptions
from apiserver.translation.translator import RunningModel, Translator
from benchmarks.origin.workload.candidate_texts import MIXED, UNIFORM, Sentence, joined, mixed
from benchmarks.origin.workload.model import Prompts, read_entry
from benchmarks.origin.workload.text_file import REVERSE, OriginText, TextSpec, text_spec
from models.corpus import read_pairs
from shared.languages import LanguagePair
from shared.protocol.messages import TextFormat

# Candidates tried at once, and between two looks at whether there are enough.
AT_ONCE: Final = 64
CHUNK: Final = 512
# Mixed texts are made of these and of uniform ones.
SHORT_TOKENS: Final = (8, 26)
SHORT_UNITS: Final = 400
MIXED_UNITS: Final = 1500
# F's load is half of it, and it has few points.
REVERSE_SHARE: Final = 6
AND: Final = {"en": "and", "de": "und", "fr": "et"}


class SecondRequestError(Exception):
    """A segment needed more than one engine request."""


class SingleRequestEngine(VllmEngine):
    """Engine that answers one request for each text, and keeps it."""

    def __init__(self, entry: ModelEntry, llm: Any, registry: CollectorRegistry, steps: StepCounter) -> None:
        super().__init__(entry, llm, registry, steps)
        self.own_tokenizer = llm.get_tokenizer()
        self.requests: dict[str, GenerationRequest] = {}

    async def generate(self, request: GenerationRequest, request_id: str) -> GenerationResult:
        """Generate one answer for the text.

        Raises:
            SecondRequestError: the text has had one.
        """
        text_id = request_id.rpartition("-")[0]
        if text_id in self.requests:
            raise SecondRequestError
        self.requests[text_id] = request
        return await super().generate(request, request_id)


class CandidateFilter:
    """Finds the candidates that are one engine request."""

    def __init__(self, entry: ModelEntry, engine: SingleRequestEngine, prompts: Prompts, pair: LanguagePair) -> None:
        self._engine = engine
        self._prompts = prompts
        self._pair = pair
        encoders = {pair: PromptEncoder.of(entry.family, pair, engine)}
        slots = BatchSlots(AT_ONCE, time.monotonic)
        guards = QualityGuard(OutputLanguage())
        sampling = sampling_for(entry, engine)
        self._translator = Translator(
            RunningModel(entry, engine, encoders, sampling), guards, ApiServerMetrics(), slots
        )
        self._numbers = itertools.count()
        self.tried = 0
        self.seconds = 0.0

    async def passed(self, units: Sequence[Sentence]) -> list[Sentence]:
        """Return those that are, in their order."""
        began = time.monotonic()
        passed = await asyncio.gather(*map(self._is_one, units))
        self.seconds += time.monotonic() - began
        self.tried += len(units)
        return [unit for unit, good in zip(units, passed, strict=True) if good]

    async def _is_one(self, unit: Sentence) -> bool:
        request_id = f"screen-{next(self._numbers)}"
        own = self._prompts.asks(self._pair.source, self._pair.target, unit.text)
        if len(own) != 1:
            return False
        planned = await self._translator.prepare(
            self._pair, unit.text, TranslateOptions(TextFormat.TEXT, Protection.of((), {}))
        )
        try:
            translation = await self._translator.complete(planned, request_id, WorkItem())
        except SecondRequestError:
            return False
        finally:
            request = self._engine.requests.pop(request_id, None)
        # What the other designs ask is what Pairway asks.
        return (
            translation.translation is not None
            and request is not None
            and list(request.prompt_ids) == list(own[0].prompt_ids)
        )


class TextSelector:
    """Makes the file's rows of one model's two directions."""

    def __init__(self, screen: CandidateFilter, prompts: Prompts, forth: LanguagePair, seed: int) -> None:
        self._screen = screen
        self._prompts = prompts
        self._forth = forth
        self._seed = seed

    async def short(self, sentences: Iterable[str]) -> list[Sentence]:
        """Return short sentences that are one engine request."""
        units = (Sentence(sentence, self._prompts.count(sentence)) for sentence in sentences)
        least, most = SHORT_TOKENS
        fitting = (unit for unit in units if least <= unit.tokens <= most)
        return await self._screen.passed(list(itertools.islice(fitting, SHORT_UNITS)))

    async def uniform(self, sentences: Sequence[str], seconds: float) -> list[Sentence]:
        """Return uniform sentences for so many seconds at the rate at which they are tried."""
        candidates = joined(sentences, AND[self._forth.source], self._prompts.count, f"{UNIFORM} {self._seed}")
        chosen: list[Sentence] = []
        while chunk := list(itertools.islice(candidates, CHUNK)):
            chosen += await self._screen.passed(chunk)
            if len(chosen) >= seconds * self.rate:
                break
        return chosen

    def mixed(self, units: Sequence[Sentence], seconds: float) -> list[OriginText]:
        """Return mixed texts for so many seconds, made of units."""
        known = {tuple(ask.prompt_ids) for unit in units for ask in self._asks(unit.text)}
        chosen: list[OriginText] = []
        requests = 0
        for text in mixed(units, f"{MIXED} {self._seed}"):
            row = self.row(MIXED, self._forth, text)
            if all(tuple(ids) in known for ids, _ in row.asks):
                chosen.append(row)
                requests += len(row.asks)
            if requests >= seconds * self.rate:
                break
        return chosen

    @property
    def rate(self) -> float:
        """Engine requests that were answered in a second."""
        return self._screen.tried / self._screen.seconds

    def row(self, kind: str, pair: LanguagePair, text: str) -> OriginText:
        """Return the file's line for a text."""
        asks = self._prompts.asks(pair.source, pair.target, text)
        return OriginText(
            kind, pair.source, pair.target, text, [(list(ask.prompt_ids), ask.max_tokens) for ask in asks]
        )

    def _asks(self, text: str) -> list[GenerationRequest]:
        return self._prompts.asks(self._forth.source, self._forth.target, text)


async def choose(entry: ModelEntry, pairs: Path, spec: TextSpec) -> list[OriginText]:
    """Start the engine and choose the texts."""
    lines = read_pairs(pairs)
    forth = next(pair for pair in entry.all_pairs if pair.source == "en")
    back = LanguagePair(forth.target, forth.source)
    engine = cast("SingleRequestEngine", await SingleRequestEngine.start(entry))
    try:
        prompts = Prompts.of(entry, engine.own_tokenizer, engine.max_model_len)
        chooser = TextSelector(CandidateFilter(entry, engine, prompts, forth), prompts, forth, spec.seed)
        short = await chooser.short(pair.english for pair in lines)
        uniform = await chooser.uniform([pair.english for pair in lines], spec.uniform)
        many = chooser.mixed([*short, *uniform[:MIXED_UNITS]], spec.mixed)
        # Not put through the guards: F's programs have none.
        other = joined([pair.other for pair in lines], AND[back.source], prompts.count, f"{REVERSE} {spec.seed}")
        reverse = [unit.text for unit in itertools.islice(other, len(uniform) // REVERSE_SHARE)]
    finally:
        await engine.stop()
    print(f"{len(uniform)} uniform and {len(many)} mixed texts of {chooser.rate:.1f} candidates/s")
    return [
        *(chooser.row(UNIFORM, forth, unit.text) for unit in uniform),
        *many,
        *(chooser.row(REVERSE, back, text) for text in reverse),
    ]


def main() -> int:
    """Choose and write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.origin.workload.text_selection")
    parser.add_argument("--catalog", type=Path, required=True)
    parser.add_argument("--pairs", type=Path, required=True, help="file of english<TAB>other lines")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--uniform", type=float, default=10.0, help="seconds of full load to last")
    parser.add_argument("--mixed", type=float, default=10.0, help="the same of mixed texts")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    entry = read_entry(options.catalog)
    spec = text_spec(entry, options.pairs, options.seed, options.uniform, options.mixed)
    rows = asyncio.run(choose(entry, options.pairs, spec))
    with options.out.open("w", encoding="utf-8") as out:
        out.writelines(json.dumps(asdict(line), ensure_ascii=False) + "\n" for line in (spec, *rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
