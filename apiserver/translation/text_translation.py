"""Text translation: translates the segments of one planned text."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from typing import Final

from apiserver.catalog.calibration import Calibration
from apiserver.catalog.model_entry import ModelEntry
from apiserver.engine.interface import Engine, GenerationRequest, GenerationResult
from apiserver.engine.prompt_encoder import PromptEncoder, max_output_tokens
from apiserver.guards.quality_guard import QualityGuard
from apiserver.metrics import ApiServerMetrics
from apiserver.prompts.family import PromptFamily
from apiserver.prompts.sampling import Sampling
from apiserver.scheduling.admission import ModelAdmission
from apiserver.scheduling.batch_slots import CANARY_PRIORITY, SHORT_SEGMENTS, BatchSlots
from apiserver.scheduling.planning_queue import PlanningQueue
from apiserver.scheduling.work_item import WorkItem
from apiserver.translation.alternatives import assemble_alternatives, translate_with_alternatives
from apiserver.translation.assembler import Assembler
from apiserver.translation.confidence import Confidence, ConfidenceScorer, combined, rounded
from apiserver.translation.masks import MaskPolicy
from apiserver.translation.planner import INLINE_WRITE_CHARS, Plan, Step, TagStep, TextStep, untranslated_text
from apiserver.translation.segment_attempts import SegmentResult
from apiserver.translation.segment_translator import SegmentContext, translate_segment
from shared.languages import LanguagePair
from shared.protocol.answers import Notice, Translation, merge_notices
from shared.protocol.priority import Lane
from shared.runtime.background import gather_results


class SegmentPool:
    """Workers that translate a plan's segments.

    Equal segments are translated once, because tables and menus repeat themselves. Mutable state: the queue, the
    workers started, results by text that occurs again.
    """

    def __init__(
        self,
        plan: Plan,
        translate: Callable[[TextStep], Awaitable[SegmentResult]],
        on_result: Callable[[int, SegmentResult], Awaitable[None]],
        max_workers: int,
    ) -> None:
        self._plan = plan
        self._translate = translate
        self._on_result = on_result
        self._free_workers = max_workers
        self._group = asyncio.TaskGroup()
        self._queue = iter(plan.segment_indices)
        self._results: dict[str, asyncio.Future[SegmentResult]] = {}

    async def run(self, workers: int) -> None:
        """Translate every segment; ``workers`` is the number to begin with."""
        try:
            async with self._group:
                for _ in range(workers):
                    self.grow()
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None

    def grow(self) -> None:
        """Start one more worker, up to the limit; only during :meth:`run`."""
        if self._free_workers:
            self._free_workers -= 1
            self._group.create_task(self._work())

    async def _work(self) -> None:
        for index in self._queue:
            step = self._plan.steps[index]
            if not isinstance(step, TextStep):
                continue
            if (known := self._results.get(step.text)) is not None:
                await self._on_result(index, await known)
                await asyncio.sleep(0)  # a known result would not let the event loop run
                continue
            future: asyncio.Future[SegmentResult] = asyncio.get_running_loop().create_future()
            if step.text in self._plan.repeated:
                self._results[step.text] = future
            result = await self._translate(step)
            future.set_result(result)
            await self._on_result(index, result)


TEXT_CUT: Final = Notice(
    code="text-cut",
    message="The text is too long for the model in one piece: it was cut at lines and sentences.",
)
# Steps that are copied on the event loop: about 2 ms.
INLINE_STEPS: Final = 1000
# Tokens of the context that must stay free for the answer, in addition to the source's length.
ANSWER_MARGIN: Final = 16


@dataclass(frozen=True, slots=True)
class RunningModel:
    """A running model with the parts that texts need.

    ``encoders`` are by pair, ``calibrations`` by its label. All models of a server share ``planning``.
    """

    entry: ModelEntry
    engine: Engine
    encoders: Mapping[LanguagePair, PromptEncoder]
    sampling: Sampling
    guard: QualityGuard
    metrics: ApiServerMetrics
    admission: ModelAdmission
    slots: BatchSlots
    calibrations: Mapping[str, Calibration] = field(default_factory=dict[str, Calibration])
    planning: PlanningQueue = field(default_factory=PlanningQueue)
    family: PromptFamily = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "family", self.entry.family)


class TextTranslation:
    """Translation of one planned text.

    ``turn``: of its caller's texts, the one with the lowest turn gets slots first. Mutable state: the number of engine
    requests sent.
    """

    def __init__(self, model: RunningModel, work: WorkItem, plan: Plan, index: int, turn: int) -> None:
        self._model = model
        self._work = work
        self._plan = plan
        self._index = index
        self._turn = turn
        self._is_long = plan.segment_count > SHORT_SEGMENTS
        self._lane = None if work.canary else Lane.of(work.priority, is_long=self._is_long)
        self._encoder = model.encoders[plan.pair]
        self._requests = 0
        self._alternatives: list[SegmentResult] | None = None
        self._pool: SegmentPool | None = None
        kinds = model.entry.masks
        masks = MaskPolicy(kinds, partial(self._encoder.count, counted={})) if kinds else None
        self._scorer: ConfidenceScorer | None = None
        if work.request.wants_confidence:
            self._scorer = ConfidenceScorer(plan.pair, model.calibrations.get(str(plan.pair)))
        self._run_long = partial(model.planning.run, work.caller)
        self._context = SegmentContext(
            plan.pair,
            model.family,
            model.sampling,
            model.guard,
            self.request_output,
            masks,
            self._scorer,
            self._run_long,
            model.planning.turns.take,
        )

    async def run(self) -> Translation:
        """Translate the text, its nested plans first.

        If no segment has usable output, ``translation`` is None and a warning says why.

        Raises:
            EngineGoneError: the engine died.
        """
        plan, pair = self._plan, self._plan.pair
        warnings: list[Notice] = []
        confidences: list[Confidence | None] = []
        if plan.nested:
            texts = await self._nested_texts(plan, warnings, confidences)
            inline = len(plan.steps) + len(plan.nested) <= INLINE_STEPS
            with_texts = partial(plan.with_nested_texts, texts)
            plan = with_texts() if inline else await self._model.planning.run(self._work.caller, 0, with_texts)
        assembler = await self._translate_plan(plan, None if self._work.sink is None else self._send)
        warnings += assembler.warnings()
        confidences.append(assembler.confidence)
        if plan.segment_count:
            warnings += self._work.notices
        if plan.is_cut:
            warnings.append(TEXT_CUT)
        alternatives = self._alternatives
        result = Translation(
            translation=assembler.text,
            alternatives=None if alternatives is None else [each.text or "" for each in alternatives],
            source_lang=pair.source,
            target_lang=pair.target,
            model=self._model.entry.name,
            route=[pair.source, pair.target],
            warnings=merge_notices(warnings, key=attrgetter("code")),
        )
        return self._with_confidence(result, confidences) if self._scorer is not None else result

    async def _nested_texts(
        self, plan: Plan, warnings: list[Notice], confidences: list[Confidence | None]
    ) -> list[str]:
        """Translate the nested plans; add their warnings and confidences.

        A few at once: a text may have 30,000, and a task takes 3 KB.
        """
        texts = [""] * len(plan.nested)
        queue = iter(enumerate(plan.nested))

        async def work() -> None:
            for index, nested in queue:
                part = await self._translate_plan(nested.plan, is_nested=True)
                texts[index] = untranslated_text(nested.plan) if part.text is None else part.text
                warnings.extend(part.warnings())
                confidences.append(part.confidence)

        await gather_results(work() for _ in range(min(len(texts), 2 * self._model.slots.long_width)))
        return texts

    def _with_confidence(self, result: Translation, confidences: Sequence[Confidence | None]) -> Translation:
        """Add the confidence; withhold the text if it is too low."""
        confidence = combined(confidences)
        result.confidence = 0.0 if result.translation is None else rounded(confidence)
        if self._alternatives is not None:
            result.alternatives_confidence = [rounded(each.confidence) for each in self._alternatives]
        least = self._work.request.min_confidence
        return result if least is None else result.at_least(least)

    async def request_output(self, text: str, terms: Mapping[str, str], sampling: Sampling) -> GenerationResult:
        """Request one output from the engine.

        A prompt that leaves no space for an answer counts as an answer cut at its length.

        Raises:
            EngineGoneError: the engine died.
        """
        engine, lane = self._model.engine, self._lane
        if lane is not None:
            await self._model.slots.acquire(lane, self._work, self._turn)  # before the prompt is encoded
        try:
            if lane is not None and self._pool is not None:
                self._pool.grow()
            work = self._work
            encode = partial(self._encoder.ids, text, terms, work.counted, work.context)
            chars = len(text) + len(work.context) + sum(map(len, (*terms, *terms.values())))
            prompt = await self._context.run(chars, encode)
            free_tokens = engine.max_model_len - len(prompt)
            if free_tokens < ANSWER_MARGIN:
                return GenerationResult("", "length")
            has_context = not terms or self._encoder.takes_context_with_terms
            context_tokens = work.context_tokens if has_context else 0
            source_tokens = max(0, len(prompt) - self._encoder.bare_length - context_tokens)
            max_tokens = min(max_output_tokens(source_tokens), free_tokens)
            priority = CANARY_PRIORITY if lane is None else lane
            request_id = f"{work.request_id}-{self._index}-{self._requests}"
            self._requests += 1
            request = GenerationRequest(prompt, sampling, max_tokens, priority, self._scorer is not None)
            return await engine.generate(request, request_id)
        finally:
            if lane is not None:
                self._model.slots.release(lane)

    async def _translate_plan(
        self, plan: Plan, on_delta: Callable[[str], None] | None = None, *, is_nested: bool = False
    ) -> Assembler:
        assembler = Assembler(plan, on_delta)
        results: dict[int, SegmentResult] | None = {} if self._work.request.alternatives else None

        async def add(index: int, result: SegmentResult) -> None:
            await self._prepare(assembler, index, plan.steps[index], result.text)
            assembler.add(index, result)
            if results is not None:
                results[index] = result

        for index in plan.long_steps:
            await self._prepare(assembler, index, plan.steps[index], None)
        segments = len(plan.segment_indices)
        if (only := plan.only_segment) is not None:  # most texts, which need no tasks
            await add(plan.segment_indices[0], await self._translate_step(only))
        elif segments:
            # A long text has up to two workers per slot, so that one waits when a slot is released and the text keeps
            # its turn. While it waits for its first slot, one is enough (docs/decisions/0011-translation-core.md).
            most = min(segments, 2 * self._model.slots.long_width) if self._is_long else segments
            pool = SegmentPool(plan, self._translate_step, add, most)
            self._pool = pool if self._is_long and not is_nested else None
            await pool.run(1 if self._pool is not None else most)
        while assembler.advance():  # noqa: ASYNC110 - lets the event loop run: a text may have 200,000 steps without words
            await asyncio.sleep(0)
        assembler.close()
        if results is not None:
            most = self._work.request.alternatives
            assemble = partial(assemble_alternatives, plan, results, assembler.text, most)
            self._alternatives = await self._context.run(most * len(assembler.text or ""), assemble)
        return assembler

    async def _prepare(self, assembler: Assembler, index: int, step: Step, translated: str | None) -> None:
        """Write a long step elsewhere; a short one waits its turn."""
        if not isinstance(step, (TextStep, TagStep)):
            return
        text = translated or step.text
        if len(text) > INLINE_WRITE_CHARS:
            assembler.prepare(index, await self._run_long(len(text), partial(step.block.write, text)))
        else:
            await self._context.take_turn(len(text))

    async def _translate_step(self, step: TextStep) -> SegmentResult:
        """Translate one segment, count its outcome, and free its capacity."""
        count, placeholders = self._work.request.alternatives, step.block.placeholders
        if count:
            result = await translate_with_alternatives(step.text, placeholders, self._context, count)
        else:
            result = await translate_segment(step.text, placeholders, self._context)
        if not self._work.is_shadow:
            self._count(result)
        self._model.admission.finish(self._work, self._work.units_per_segment)
        return result

    def _count(self, result: SegmentResult) -> None:
        pair = str(self._plan.pair)
        self._model.metrics.segments.labels(pair, result.stage).inc()
        if result.issue_codes:
            remaining = {issue.code for issue in result.issues}
            for code in result.issue_codes:
                outcome = "given-up" if result.text is None else "shown" if code in remaining else "mended"
                self._model.metrics.guards.labels(pair, code, outcome).inc()

    def _send(self, text: str) -> None:
        if self._work.sink is not None:
            self._work.sink(self._index, text)
