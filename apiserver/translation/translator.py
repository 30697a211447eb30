"""Translator: one text in, one translation out, on one model: planned, asked segment by segment, put back in order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import cache, partial
from itertools import count
from typing import Final, TypeVar

from apiserver.catalog.model_entry import ModelEntry
from apiserver.engine.interface import Engine
from apiserver.engine.prompt_encoder import PromptEncoder
from apiserver.guards.quality_guard import QualityGuard
from apiserver.metrics import ApiServerMetrics
from apiserver.prompts.sampling import Sampling
from apiserver.protection.placeholder_encoding import placeholders_in
from apiserver.scheduling.batch_slots import SHORT_SEGMENTS, BatchSlots
from apiserver.scheduling.fair_queue import SlotRequest
from apiserver.scheduling.work_item import WorkItem
from apiserver.segmentation.segmenter import Budget
from apiserver.translation.assembler import Assembler
from apiserver.translation.engine_requests import ANSWER_MARGIN, EngineRequester
from apiserver.translation.planner import Plan, TextStep, TranslateOptions, plan_text, untranslated_text
from apiserver.translation.segment_translator import SegmentContext, SegmentResult, translate_segment
from shared.languages import LanguagePair
from shared.protocol.errors import TooLargeError
from shared.protocol.messages import Notice, Translation
from shared.runtime.tasks import gather_results

T = TypeVar("T")

# A segment shorter than this is no sentence any more: terms and frame leave too little of the context.
MIN_SEGMENT_TOKENS: Final = 16
# About 2 ms of planning; longer texts are planned in a thread, so that the event loop never waits for one.
INLINE_CHARS: Final = 2000


class Translator:
    """Translates texts of one model's pairs on its running engine."""

    def __init__(
        self,
        entry: ModelEntry,
        engine: Engine,
        encoders: Mapping[LanguagePair, PromptEncoder],
        sampling: Sampling,
        guards: QualityGuard,
        metrics: ApiServerMetrics,
        slots: BatchSlots,
    ) -> None:
        """Take the model's entry, its engine and the slots of that, each pair's frame, how it chooses tokens, the guards."""
        self.engine = engine
        self._entry = entry
        self._frames = encoders
        self._decoding = sampling
        self._guards = guards
        self._metrics = metrics
        self._segments = cache(metrics.segments.labels)  # as in replica.py
        self._slots = slots
        # Long texts climb no more ladders at once than can have work in hand and waiting: 128 of them, each with all its
        # segments begun, would hold the event loop for seconds.
        self._climbs = BatchSlots(2 * engine.max_num_seqs, slots.clock)
        self._turns = count()
        self._aside = asyncio.Lock()

    async def prepare(
        self, pair: LanguagePair, text: str, options: TranslateOptions, *, in_thread: bool = False
    ) -> Plan:
        """Plan a text, without the engine: a request is refused before any of its texts costs a step.

        ``aside`` plans it in a thread, because others of its request are planned too.

        Raises:
            TooLargeError: the request's terms leave no room for a text in the model's context.
        """
        limit = self._segment_limit(pair, options)
        chosen = self._entry.segment
        budget = Budget(
            max_tokens=limit if chosen.tokens is None else min(chosen.tokens, limit),
            max_sentences=chosen.sentences,
            count=lambda words: len(self.engine.encode_text(words)),
        )
        if not in_thread and len(text) <= INLINE_CHARS:
            return plan_text(text, pair, options, budget)
        async with self._aside:  # one at a time: the rest of the server needs the interpreter too
            return await asyncio.to_thread(plan_text, text, pair, options, budget)

    async def complete(
        self,
        plan: Plan,
        request_id: str,
        work_item: WorkItem,
        *,
        cost: float = 0.0,
        on_delta: Callable[[str], None] | None = None,
    ) -> Translation:
        """Translate a planned text; ``on_delta`` is given each further part of the answer as soon as it is final.

        ``cost`` is the text's part of the request's units; they are told to be done evenly, segment by segment.
        Where no segment has usable output, ``translation`` is None and a warning says why.

        Raises:
            EngineGoneError: the engine died.
        """
        pair = plan.pair
        segments = segment_count(plan)
        claim = SlotRequest(work_item.lane(is_long=segments > SHORT_SEGMENTS), work_item.caller, next(self._turns))
        inquiry = EngineRequester(self.engine, self._frames[pair], self._slots, claim, work_item, request_id)
        way = SegmentContext(pair, self._entry.family, self._decoding, self._guards, inquiry)
        done = partial(work_item.done, cost / max(1, segments))
        warnings: list[Notice] = []
        if plan.nested:
            inside = await gather_results(self._run(inner.plan, way, claim, done, None) for inner in plan.nested)
            texts = [made.text for made in inside]
            warnings += [notice for made in inside for notice in made.warnings()]
            plan = plan.with_nested_texts(
                [
                    untranslated_text(inner.plan) if text is None else text
                    for inner, text in zip(plan.nested, texts, strict=True)
                ]
            )
        if plan.only_segment is None or claim.is_long:
            assembly = await self._run(plan, way, claim, done, on_delta)
        else:
            assembly = await self._run_only(plan, plan.only_segment, way, done, on_delta)
        warnings += assembly.warnings()
        return Translation(
            translation=assembly.text,
            source_lang=pair.source,
            target_lang=pair.target,
            model=self._entry.name,
            route=[pair.source, pair.target],
            warnings=list({notice.code: notice for notice in reversed(warnings)}.values()),
        )

    async def _run_only(
        self,
        planned: Plan,
        only: TextStep,
        way: SegmentContext,
        done: Callable[[], None],
        on_delta: Callable[[str], None] | None,
    ) -> Assembler:
        """Do what :meth:`_run` does for a plan of one segment, as most texts are: there is nothing to share out among tasks."""
        assembly = Assembler(planned, on_delta)
        made = await translate_segment(only.text, only.block.placeholders, way)
        self._count(planned.pair, made)
        assembly.add(planned.segment_indices[0], made)
        done()
        assembly.close()
        return assembly

    async def _run(
        self,
        planned: Plan,
        way: SegmentContext,
        claim: SlotRequest,
        done: Callable[[], None],
        on_delta: Callable[[str], None] | None,
    ) -> Assembler:
        """Ask for every segment of a plan and put its text together."""
        assembly = Assembler(planned, on_delta)
        wanted = planned.segment_indices
        queue = iter(wanted)
        # Tables and menus say the same again and again; at most one entry for each segment.
        said: dict[str, asyncio.Future[SegmentResult]] = {}

        # A long text has up to twice as many tasks as places in the batch, so that one of them waits when a place is given
        # back and the text keeps its turn; 50,000 would be memory for nothing. Each makes two more when it is first let
        # in: of 128 long texts most only wait, and need but one task for that.
        most = min(len(wanted), 2 * self._slots.long_width) if claim.is_long else len(wanted)
        begun = 0

        def grow(by: int) -> None:
            nonlocal begun
            by = min(by, most - begun)
            begun += by
            for _ in range(by):
                group.create_task(work())

        async def work() -> None:
            let_in = False
            for index in queue:
                step = planned.steps[index]
                if not isinstance(step, TextStep):
                    continue
                if (known := said.get(step.text)) is not None:
                    assembly.add(index, await known)
                    done()
                    continue
                coming: asyncio.Future[SegmentResult] = asyncio.get_running_loop().create_future()
                if (
                    next(placeholders_in(step.text), None) is None
                ):  # marks of one spelling may be others in the next block
                    said[step.text] = coming
                async with self._climbs.hold(claim) if claim.is_long else nullcontext():
                    if not let_in:
                        let_in = True
                        grow(2)
                    made = await translate_segment(step.text, step.block.placeholders, way)
                coming.set_result(made)
                self._count(planned.pair, made)
                assembly.add(index, made)
                done()

        try:
            async with asyncio.TaskGroup() as group:
                grow(1 if claim.is_long else most)
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from None
        assembly.close()
        return assembly

    def _segment_limit(self, pair: LanguagePair, wish: TranslateOptions) -> int:
        """Return how many tokens of source one request can take, the answer being about as long."""
        terms: Mapping[str, str] = wish.protection.terms if self._entry.family.term_prompt else {}
        frame = self._frames[pair]
        around = len(frame.ids("", terms)) if terms else frame.bare_length
        limit = (self.engine.max_model_len - around - ANSWER_MARGIN) // 2
        if limit < MIN_SEGMENT_TOKENS:
            raise TooLargeError("terms", size=len(terms), limit=len(terms) // 2, unit="entries (with this model)")
        return limit

    def _count(self, pair: LanguagePair, made: SegmentResult) -> None:
        """Count how the segment was had, and for each guard that caught something what came of it."""
        self._segments(str(pair), made.stage).inc()
        left = {fault.code for fault in made.issues}
        for code in made.issue_codes:
            outcome = "given-up" if made.text is None else "shown" if code in left else "mended"
            self._metrics.guards.labels(str(pair), code, outcome).inc()


def segment_count(planned: Plan) -> int:
    """Return how many segments of a plan the engine is asked for."""
    return len(planned.segment_indices) + sum(len(inner.plan.segment_indices) for inner in planned.nested)
