"""Translator: translates all texts of one request on one model."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count
from typing import Final

from apiserver.engine.interface import Engine
from apiserver.protection.placeholders import Protection
from apiserver.scheduling.batch_slots import SHORT_SEGMENTS
from apiserver.scheduling.work_item import WorkItem
from apiserver.segmentation.segmenter import Budget
from apiserver.translation.planner import Plan, TranslateOptions, plan_text
from apiserver.translation.text_translation import ANSWER_MARGIN, RunningModel, TextTranslation
from shared.languages import LanguagePair
from shared.protocol.errors import TooLargeError
from shared.protocol.messages import Translation
from shared.runtime.tasks import gather_results

# A smaller segment holds no sentence: terms and prompt leave too little of the context.
MIN_SEGMENT_TOKENS: Final = 16
# About 2 ms of planning. Longer texts are planned in a thread, so that the event loop does not wait.
INLINE_CHARS: Final = 2000


class Translator:
    """Translation of requests for one model's pairs on its running engine."""

    def __init__(self, model: RunningModel) -> None:
        self._model = model
        self._turns = count()
        # One thread, because the rest of the server needs the interpreter too, and an abandoned plan continues.
        self._planning = ThreadPoolExecutor(max_workers=1, thread_name_prefix="planning")

    @property
    def engine(self) -> Engine:
        """The engine that translates."""
        return self._model.engine

    async def translate(self, work: WorkItem) -> list[Translation]:
        """Translate a request's texts concurrently, in the same order.

        Raises:
            TooLargeError: the request's terms leave no space for a text in the model's context.
            EngineGoneError: the engine died.
        """
        plans = await self.plan(work)
        segments = [plan.segment_count for plan in plans]
        work.units_per_segment = work.cost / max(1, sum(segments))
        if max(segments) <= SHORT_SEGMENTS:
            work.queue_seconds = self._model.admission.queue_deadline(work.priority)
        return await gather_results(
            TextTranslation(self._model, work, plan, index, next(self._turns)).run() for index, plan in enumerate(plans)
        )

    async def plan(self, work: WorkItem) -> list[Plan]:
        """Plan every text before the first engine request.

        So a request is refused before it costs a step.

        Raises:
            TooLargeError: the request's terms leave no space for a text in the model's context.
        """
        request = work.request
        options = TranslateOptions(request.format, Protection.of(request.do_not_translate, request.terms))
        counted: dict[str, Sequence[int]] = {}
        budget = self._budget(work.pair, options.protection.terms, counted)
        if work.chars <= INLINE_CHARS:
            work.counted = counted
            return [plan_text(text, work.pair, options, budget) for text in work.texts]
        run = asyncio.get_running_loop().run_in_executor
        return [await run(self._planning, plan_text, text, work.pair, options, budget) for text in work.texts]

    def _budget(self, pair: LanguagePair, terms: Mapping[str, str], counted: dict[str, Sequence[int]]) -> Budget:
        """Return the most tokens of one engine request."""
        model, limits = self._model, self._model.entry.segment
        encoder, in_prompt = model.encoders[pair], terms and model.family.terms is not None
        prompt_tokens = len(encoder.ids("", terms)) if in_prompt else encoder.bare_length
        max_tokens = (model.engine.max_model_len - prompt_tokens - ANSWER_MARGIN) // 2
        if max_tokens < MIN_SEGMENT_TOKENS:
            raise TooLargeError("terms", size=len(terms), limit=len(terms) // 2, unit="entries (with this model)")
        return Budget(
            max_tokens=max_tokens if limits.tokens is None else min(limits.tokens, max_tokens),
            max_sentences=limits.sentences,
            count=partial(encoder.count, counted=counted),
        )
