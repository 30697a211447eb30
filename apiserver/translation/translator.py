"""Translator: one text in, one translation out, on one model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache, partial
from itertools import count
from typing import Final

from apiserver.catalog.model_entry import ModelEntry
from apiserver.engine.interface import Engine
from apiserver.engine.prompt_encoder import PromptEncoder
from apiserver.guards.quality_guard import QualityGuard
from apiserver.metrics import ApiServerMetrics
from apiserver.prompts.sampling import Sampling
from apiserver.scheduling.batch_slots import SHORT_SEGMENTS, BatchSlots
from apiserver.scheduling.fair_queue import SlotRequest
from apiserver.scheduling.work_item import WorkItem
from apiserver.segmentation.segmenter import Budget
from apiserver.translation.assembler import Assembler
from apiserver.translation.engine_requests import ANSWER_MARGIN, EngineRequester
from apiserver.translation.planner import NestedPlan, Plan, TextStep, TranslateOptions, plan_text, untranslated_text
from apiserver.translation.segment_pool import SegmentPool
from apiserver.translation.segment_translator import SegmentContext, SegmentResult, translate_segment
from shared.languages import LanguagePair
from shared.protocol.errors import TooLargeError
from shared.protocol.messages import Translation
from shared.runtime.tasks import gather_results

# A segment shorter than this is no sentence any more: terms and prompt leave too little of the context.
MIN_SEGMENT_TOKENS: Final = 16
# About 2 ms of planning; longer texts are planned in a thread, so that the event loop never waits for one.
INLINE_CHARS: Final = 2000


@dataclass(frozen=True, slots=True)
class RunningModel:
    """A model that runs: its catalog entry, engine, prompt encoders by pair, and how it chooses tokens."""

    entry: ModelEntry
    engine: Engine
    encoders: Mapping[LanguagePair, PromptEncoder]
    sampling: Sampling


class Translator:
    """Translates texts of one model's pairs on its running engine."""

    def __init__(self, model: RunningModel, guard: QualityGuard, metrics: ApiServerMetrics, slots: BatchSlots) -> None:
        self.engine = model.engine
        self._model = model
        self._guard = guard
        self._metrics = metrics
        self._segments = cache(metrics.segments.labels)  # as in model_server.py
        self._slots = slots
        # Long texts have no more segments begun at once than can run and wait: 128 texts, each with all its segments
        # begun, would hold the event loop for seconds.
        self._long_text_slots = BatchSlots(2 * model.engine.max_num_seqs, slots.clock)
        self._turns = count()
        self._planning_lock = asyncio.Lock()

    async def prepare(
        self, pair: LanguagePair, text: str, options: TranslateOptions, *, in_thread: bool = False
    ) -> Plan:
        """Plan a text, without the engine: a request is refused before any of its texts costs a step.

        ``in_thread`` plans it in a thread, because others of its request are planned too.

        Raises:
            TooLargeError: the request's terms leave no space for a text in the model's context.
        """
        max_tokens = self._max_segment_tokens(pair, options)
        limits = self._model.entry.segment
        budget = Budget(
            max_tokens=max_tokens if limits.tokens is None else min(limits.tokens, max_tokens),
            max_sentences=limits.sentences,
            count=lambda words: len(self.engine.encode_text(words)),
        )
        if not in_thread and len(text) <= INLINE_CHARS:
            return plan_text(text, pair, options, budget)
        async with self._planning_lock:  # one at a time: the rest of the server needs the interpreter too
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
        """Translate a planned text; ``on_delta`` gets each further part of the answer as soon as it is final.

        ``cost`` is the text's part of the request's units; each segment reports an equal share of them as done.
        Where no segment has usable output, ``translation`` is None and a warning says why.

        Raises:
            EngineGoneError: the engine died.
        """
        pair = plan.pair
        lane = work_item.lane(is_long=plan.segment_count > SHORT_SEGMENTS)
        slot_request = SlotRequest(lane, work_item.caller, next(self._turns))
        requester = EngineRequester(
            self.engine, self._model.encoders[pair], self._slots, slot_request, work_item, request_id
        )
        context = SegmentContext(pair, self._model.entry.family, self._model.sampling, self._guard, requester)
        on_segment_done = partial(work_item.done, cost / max(1, plan.segment_count))
        nested: list[Assembler] = []
        if plan.nested:
            nested = await gather_results(
                self._translate_plan(each.plan, context, slot_request, on_segment_done) for each in plan.nested
            )
            plan = plan.with_nested_texts([*map(_text_of, plan.nested, nested)])
        assembler = await self._translate_plan(plan, context, slot_request, on_segment_done, on_delta)
        warnings = [notice for each in (*nested, assembler) for notice in each.warnings()]
        return Translation(
            translation=assembler.text,
            source_lang=pair.source,
            target_lang=pair.target,
            model=self._model.entry.name,
            route=[pair.source, pair.target],
            warnings=list({notice.code: notice for notice in reversed(warnings)}.values()),
        )

    async def _translate_plan(
        self,
        plan: Plan,
        context: SegmentContext,
        slot_request: SlotRequest,
        on_segment_done: Callable[[], None],
        on_delta: Callable[[str], None] | None = None,
    ) -> Assembler:
        """Translate every segment of a plan and assemble its text."""
        assembler = Assembler(plan, on_delta)

        def on_result(index: int, result: SegmentResult) -> None:
            assembler.add(index, result)
            on_segment_done()

        translate = partial(self._translate_step, context)
        segments = len(plan.segment_indices)
        if slot_request.is_long:
            # A long text has up to twice as many workers as places in the batch, so that one of them waits when a place
            # is given back and the text keeps its turn; 50,000 would be memory for nothing. Each starts two more when
            # it is first let in: of 128 long texts most only wait, and need but one worker for that.
            permit = partial(self._long_text_slots.hold, slot_request)
            pool = SegmentPool(plan, translate, on_result, permit, min(segments, 2 * self._slots.long_width))
            await pool.run(1)
        elif plan.only_segment is not None:  # most texts: they need no tasks
            on_result(plan.segment_indices[0], await translate(plan.only_segment))
        else:
            await SegmentPool(plan, translate, on_result, nullcontext, segments).run(segments)
        assembler.close()
        return assembler

    async def _translate_step(self, context: SegmentContext, step: TextStep) -> SegmentResult:
        """Translate one segment and count how it went."""
        result = await translate_segment(step.text, step.block.placeholders, context)
        self._count(context.pair, result)
        return result

    def _max_segment_tokens(self, pair: LanguagePair, options: TranslateOptions) -> int:
        """Return how many tokens of source one request can take, the answer being about as long."""
        terms: Mapping[str, str] = options.protection.terms if self._model.entry.family.term_prompt else {}
        encoder = self._model.encoders[pair]
        prompt_tokens = len(encoder.ids("", terms)) if terms else encoder.bare_length
        max_tokens = (self.engine.max_model_len - prompt_tokens - ANSWER_MARGIN) // 2
        if max_tokens < MIN_SEGMENT_TOKENS:
            raise TooLargeError("terms", size=len(terms), limit=len(terms) // 2, unit="entries (with this model)")
        return max_tokens

    def _count(self, pair: LanguagePair, result: SegmentResult) -> None:
        """Count the stage that gave the result, and for each issue found what became of it."""
        self._segments(str(pair), result.stage).inc()
        remaining = {issue.code for issue in result.issues}
        for code in result.issue_codes:
            outcome = "given-up" if result.text is None else "shown" if code in remaining else "mended"
            self._metrics.guards.labels(str(pair), code, outcome).inc()


def _text_of(nested: NestedPlan, assembler: Assembler) -> str:
    """Return a nested plan's translation; its text as it came where there is none."""
    return untranslated_text(nested.plan) if assembler.text is None else assembler.text
