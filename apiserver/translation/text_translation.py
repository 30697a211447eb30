"""Text translation: translates the segments of one planned text."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from operator import attrgetter
from typing import Final

from apiserver.scheduling.batch_slots import SHORT_SEGMENTS
from apiserver.scheduling.work_item import WorkItem
from apiserver.translation.alternatives import assemble_alternatives, translate_with_alternatives
from apiserver.translation.assembler import Assembler
from apiserver.translation.confidence import Confidence, ConfidenceScorer, combined, rounded
from apiserver.translation.engine_requests import CALL_SECONDS, EngineRequests, TurnRunner
from apiserver.translation.masks import MaskPolicy
from apiserver.translation.planner import INLINE_WRITE_CHARS, Plan, Step, TagStep, TextStep, untranslated_text
from apiserver.translation.running_model import RunningModel
from apiserver.translation.segment_attempts import SegmentResult
from apiserver.translation.segment_translator import SegmentContext, translate_segment
from shared.protocol.answers import Notice, Translation, merge_notices
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
        if self._free_workers == 1:  # it needs no task
            self._free_workers = 0
            await self._run_worker()
            return
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
            self._group.create_task(self._run_worker())

    async def _run_worker(self) -> None:
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
# Of a text in a list: with so many, one more of its segments may wait for the engine (docs/operations/limits.md, "Memory").
WORKER_CHARS: Final = 64
# For each character of a step that is written, at most: Markdown.
WRITE_SECONDS: Final = 3e-6


def most_workers(texts: Sequence[str], index: int, plan: Plan, long_width: int) -> int:
    """Return how many segments of a text are translated at once.

    Each takes some 6 KB. A long text has two for each of its slots; the texts of a list have fewer, the more they are,
    but one for each ``WORKER_CHARS``.
    """
    if plan.segment_count > SHORT_SEGMENTS:
        most = 2 * long_width
        return most if len(texts) == 1 else min(most, max(SHORT_SEGMENTS, len(texts[index]) // WORKER_CHARS))
    return max(1, SHORT_SEGMENTS // len(texts), len(texts[index]) // WORKER_CHARS)


class TextTranslation:
    """Translation of one planned text.

    ``turn``: of its caller's texts, the one with the lowest turn gets slots first. Mutable state: its alternatives.
    """

    def __init__(self, model: RunningModel, work: WorkItem, plan: Plan, index: int, turn: int) -> None:
        self._model = model
        self._work = work
        self._plan = plan
        self._index = index
        self._is_long = plan.segment_count > SHORT_SEGMENTS
        self._most_workers = most_workers(work.texts, index, plan, model.slots.long_width)
        self._alternatives: list[SegmentResult] | None = None
        kinds = model.entry.masks
        count = partial(model.encoders[plan.pair].count, counted={})
        self._scorer: ConfidenceScorer | None = None
        if work.request.wants_confidence:
            self._scorer = ConfidenceScorer(plan.pair, model.calibrations.get(str(plan.pair)))
        self._runner = TurnRunner(partial(model.planning.run, work.caller), model.planning.turns.take)
        self._requests = EngineRequests(model, work, plan, index, turn, self._runner)
        self._context = SegmentContext(
            plan.pair,
            model.family,
            model.sampling,
            model.guard,
            self._requests.output,
            MaskPolicy(kinds, count) if kinds else None,
            self._scorer,
            self._runner,
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
        if self._scorer is None:
            return result
        if self._scorer.uncertain_below is not None:
            result.uncertain = assembler.uncertain
        return self._with_confidence(result, confidences)

    async def _nested_texts(
        self, plan: Plan, warnings: list[Notice], confidences: list[Confidence | None]
    ) -> list[str]:
        """Translate the nested plans; add their warnings and confidences.

        A few at once: a text may have 30,000, and a task takes 3 KB.
        """
        texts = [""] * len(plan.nested)
        queue = iter(enumerate(plan.nested))

        async def translate_next() -> None:
            for index, nested in queue:
                part = await self._translate_plan(nested.plan, is_nested=True)
                texts[index] = untranslated_text(nested.plan) if part.text is None else part.text
                warnings.extend(part.warnings())
                confidences.append(part.confidence)

        await gather_results(translate_next() for _ in range(min(len(texts), self._most_workers)))
        return texts

    def _with_confidence(self, result: Translation, confidences: Sequence[Confidence | None]) -> Translation:
        """Add the confidence; withhold the text if it is too low."""
        confidence = combined(confidences)
        result.confidence = 0.0 if result.translation is None else rounded(confidence)
        if self._alternatives is not None:
            result.alternatives_confidence = [rounded(each.confidence) for each in self._alternatives]
        least = self._work.request.min_confidence
        return result if least is None else result.at_least(least)

    async def _translate_plan(
        self, plan: Plan, on_delta: Callable[[str], None] | None = None, *, is_nested: bool = False
    ) -> Assembler:
        assembler = Assembler(plan, on_delta, self._scorer and self._scorer.uncertain_below)
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
            most = min(segments, self._most_workers)
            pool = SegmentPool(plan, self._translate_step, add, most)
            grows = self._is_long and not is_nested
            self._requests.on_slot = pool.grow if grows else None
            await pool.run(1 if grows else most)
        while assembler.advance():  # noqa: ASYNC110 - lets the event loop run: a text may have 200,000 steps without words
            await asyncio.sleep(0)
        assembler.close()
        if results is not None:
            most = self._work.request.alternatives
            assemble = partial(assemble_alternatives, plan, results, assembler.text, most)
            self._alternatives = await self._runner.run(most * len(assembler.text or ""), assemble)
        return assembler

    async def _prepare(self, assembler: Assembler, index: int, step: Step, translated: str | None) -> None:
        """Write a long step elsewhere; a short one waits its turn."""
        if not isinstance(step, (TextStep, TagStep)):
            return
        text = translated or step.text
        if len(text) > INLINE_WRITE_CHARS:
            assembler.prepare(index, await self._runner.run_long(len(text), partial(step.block.write, text)))
        else:
            await self._runner.take_turn(CALL_SECONDS + len(text) * WRITE_SECONDS)

    async def _translate_step(self, step: TextStep) -> SegmentResult:
        """Translate one segment, count its outcome, and free its capacity."""
        count, placeholders = self._work.request.alternatives, step.block.placeholders
        if count:
            result = await translate_with_alternatives(step.text, placeholders, self._context, count)
        else:
            result = await translate_segment(step.text, placeholders, self._context)
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
