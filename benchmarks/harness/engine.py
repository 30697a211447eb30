"""One model of a catalog on a real engine, in this process and without HTTP."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

from apiserver.catalog.calibration import Calibration
from apiserver.catalog.model_entry import ModelEntry
from apiserver.engine.interface import GenerationRequest, GenerationResult
from apiserver.engine.preloaded import ENVIRONMENT
from apiserver.engine.prompt_encoder import PromptEncoder, max_output_tokens, sampling_for
from apiserver.engine.vllm_engine import VllmEngine
from apiserver.guards.output_language import OutputLanguage
from apiserver.guards.quality_guard import QualityGuard
from apiserver.metrics import ApiServerMetrics
from apiserver.protection.placeholders import Protection
from apiserver.scheduling.admission import ModelAdmission, QueueBounds
from apiserver.scheduling.work_item import WorkItem
from apiserver.translation.planner import TranslateOptions
from apiserver.translation.running_model import RunningModel
from apiserver.translation.translator import Translator
from shared.languages import LanguagePair
from shared.protocol.answers import Translation
from shared.protocol.deadline import Deadline
from shared.protocol.translate_request import TextFormat, TranslateRequest

# Texts in flight at once: what the demo models' engines run in one batch.
CONCURRENCY: Final = 64
# Longer than any text takes.
TIMEOUT_SECONDS: Final = 3600.0
T = TypeVar("T")
PLAIN: Final = TranslateOptions(TextFormat.TEXT, Protection.of((), {}))


@dataclass(frozen=True)
class TextRequest:
    """A text with the options of its request."""

    text: str
    format: TextFormat = TextFormat.TEXT
    do_not_translate: Sequence[str] = ()
    confidence: bool = False
    terms: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class LocalModel:
    """A running model; translates with the whole pipeline, or generates without it."""

    entry: ModelEntry
    engine: VllmEngine
    metrics: ApiServerMetrics
    translator: Translator
    calibrations: Mapping[str, Calibration] = field(default_factory=dict[str, Calibration])

    def with_slots(self, at_once: int) -> LocalModel:
        """Return the same model with so many slots, whatever its engine could run at once."""
        translator = _translator(self.entry, self.engine, self.metrics, at_once, self.calibrations)
        return replace(self, translator=translator)

    def with_options(self, options: Mapping[str, object]) -> LocalModel:
        """Return the same model, its engine shared, with other values of its catalog entry."""
        entry = self.entry.model_copy(update=dict(options))
        translator = _translator(entry, self.engine, self.metrics, self.engine.max_num_seqs, self.calibrations)
        return replace(self, entry=entry, translator=translator)

    async def translate(
        self, pair: LanguagePair, texts: Sequence[TextRequest], prepare: Callable[[int], None] = lambda _: None
    ) -> list[Translation]:
        """Translate every text as the API server does; ``prepare`` runs in each text's task with its index."""

        async def one(number: int, request: TextRequest) -> Translation:
            prepare(number)
            (translation,) = await self.translator.translate(work_item(pair, request, f"bench-{pair}-{number}"))
            return translation

        return await _limited(one(number, request) for number, request in enumerate(texts))

    async def generate(self, pair: LanguagePair, texts: Sequence[str]) -> list[GenerationResult]:
        """Generate once for each text, with its prompt and output limit and no guards."""
        encoder, sampling = (
            PromptEncoder.of(self.entry.family, pair, self.engine),
            sampling_for(self.entry, self.engine),
        )

        def one(number: int, text: str) -> Coroutine[Any, Any, GenerationResult]:
            prompt = encoder.ids(text, {})
            most = min(max_output_tokens(len(prompt) - encoder.bare_length), self.engine.max_model_len - len(prompt))
            return self.engine.generate(GenerationRequest(prompt, sampling, most), f"bare-{pair}-{number}")

        return await _limited(one(number, text) for number, text in enumerate(texts))


async def _limited(works: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    semaphore = asyncio.Semaphore(CONCURRENCY)

    async def one(work: Coroutine[Any, Any, T]) -> T:
        async with semaphore:
            return await work

    return await asyncio.gather(*map(one, works))


@asynccontextmanager
async def running_model(
    entry: ModelEntry, kind: type[VllmEngine] = VllmEngine, calibrations: Mapping[str, Calibration] | None = None
) -> AsyncGenerator[LocalModel]:
    """Run the model's engine while the block lasts; ``kind`` may watch what it is asked."""
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    engine = await kind.start(entry)
    try:
        metrics = ApiServerMetrics()
        translator = _translator(entry, engine, metrics, engine.max_num_seqs, calibrations)
        yield LocalModel(entry, engine, metrics, translator, calibrations or {})
    finally:
        await engine.stop()


def work_item(pair: LanguagePair, request: TextRequest, request_id: str) -> WorkItem:
    """Return the work that a request for one text is."""
    wanted = TranslateRequest(
        text=request.text,
        source_lang=pair.source,
        target_lang=pair.target,
        format=request.format,
        do_not_translate=list(request.do_not_translate),
        terms=dict(request.terms),
        confidence=request.confidence,
    )
    return WorkItem(wanted, pair, Deadline.after(TIMEOUT_SECONDS, time.monotonic), request_id)


def _translator(
    entry: ModelEntry,
    engine: VllmEngine,
    metrics: ApiServerMetrics,
    at_once: int,
    calibrations: Mapping[str, Calibration] | None = None,
) -> Translator:
    encoders = {pair: PromptEncoder.of(entry.family, pair, engine) for pair in entry.all_pairs}
    admission = ModelAdmission(at_once, QueueBounds(TIMEOUT_SECONDS, at_once), time.monotonic)
    guard, sampling = QualityGuard(OutputLanguage()), sampling_for(entry, engine)
    slots = admission.new_slots(at_once)
    return Translator(
        RunningModel(entry, engine, encoders, sampling, guard, metrics, admission, slots, calibrations or {})
    )
