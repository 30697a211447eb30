"""Translator: translates all texts of one request on one model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import count
from typing import Final

from apiserver.engine.interface import Engine
from apiserver.formats.xml_tokens import XmlSyntaxError
from apiserver.protection.placeholders import Protection
from apiserver.scheduling.planning_queue import slices
from apiserver.scheduling.work_item import WorkItem
from apiserver.segmentation.segmenter import Budget
from apiserver.translation.engine_requests import ANSWER_MARGIN
from apiserver.translation.planner import Plan, TranslateOptions, plan_text
from apiserver.translation.running_model import RunningModel
from apiserver.translation.text_translation import TextTranslation
from shared.protocol.answers import Notice, Translation
from shared.protocol.errors import InvalidRequestError, TooLargeError
from shared.protocol.translate_request import TextFormat
from shared.runtime.background import gather_results

# A smaller segment holds no sentence: terms and prompt leave too little of the context.
MIN_SEGMENT_TOKENS: Final = 16
# About 2 ms of planning. Longer texts are planned in a thread, so that the event loop does not wait.
INLINE_PLAN_CHARS: Final = 2000
# The worst markup takes 13 µs a character, twenty times a sentence's.
INLINE_MARKUP_CHARS: Final = 500
# As many as a text counts for at least: the plan of a tiny one costs hardly less.
LEAST_CHARS: Final = 16
# At most, for the longest text that is planned on the event loop.
INLINE_SECONDS: Final = 0.007
# Names and terms that may double the time of planning: each may begin at every character.
INLINE_ENTRIES: Final = 20
# A context takes at most one part in this many of the model's space: the text and its translation need the rest.
CONTEXT_SHARE: Final = 2
# At most, for what is made for each text of a list before its first call.
TEXT_SECONDS: Final = 1e-4
CONTEXT_UNUSED: Final = "context-unused"


class Translator:
    """Translation of requests for one model's pairs on its running engine."""

    def __init__(self, model: RunningModel) -> None:
        self._model = model
        self._turns = count()

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
        self._model.admission.note_plan(work, [plan.segment_count for plan in plans])
        return await gather_results(
            self._translate_text(work, plan, index, next(self._turns)) for index, plan in enumerate(plans)
        )

    async def _translate_text(self, work: WorkItem, plan: Plan, index: int, turn: int) -> Translation:
        if len(work.texts) > 1:  # all would begin in one step of the loop
            await self._model.planning.turns.take(TEXT_SECONDS)
        return await TextTranslation(self._model, work, plan, index, turn).run()

    async def plan(self, work: WorkItem) -> list[Plan]:
        """Plan every text before the first engine request.

        So a request is refused before it costs a step.

        Raises:
            TooLargeError: the request's terms leave no space for a text in the model's context.
            InvalidRequestError: a text is not well-formed XML.
        """
        request = work.request
        protection = Protection.of(request.do_not_translate, request.terms)
        options = TranslateOptions(request.format, protection, request.splitting, request.xml)
        counted: dict[str, Sequence[int]] = {}
        work.context, work.context_tokens, work.notices = "", 0, ()
        if request.context:
            self._add_context(work)
        budget = await self._budget(work, options.protection.terms, counted)
        inline_chars = INLINE_PLAN_CHARS if request.format is TextFormat.TEXT else INLINE_MARKUP_CHARS
        entries = len(request.terms) + len(request.do_not_translate)
        chars = sum(max(LEAST_CHARS, len(text)) for text in work.texts)
        share = chars * (INLINE_ENTRIES + entries) / (inline_chars * INLINE_ENTRIES)
        if share <= 1:
            await self._model.planning.turns.take(share * INLINE_SECONDS)
            work.counted = counted
            return _planned(range(len(work.texts)), work, options, budget)
        plans: list[Plan] = []
        for indices in slices(work.texts):
            chars = sum(len(work.texts[index]) for index in indices)
            plan = partial(_planned, indices, work, options, budget)
            plans += await self._model.planning.run(work.caller, chars, plan)
        return plans

    def _add_context(self, work: WorkItem) -> None:
        """Give the prompts the client's context, or report why not."""
        encoder, context = self._model.encoders[work.pair], work.request.context
        why = f"the prompts of model {self._model.entry.name} have no place for it."
        if encoder.takes_context:
            tokens = len(encoder.ids("", {}, context=context)) - encoder.bare_length
            if tokens <= self._model.engine.max_model_len // CONTEXT_SHARE:
                work.context, work.context_tokens = context, tokens
                if encoder.takes_context_with_terms or not work.request.terms:
                    return
                why = "for sentences with terms the model's prompt has no place for both."
            else:
                why = f"it has {tokens} tokens, and the model has space for {self._model.engine.max_model_len}."
        work.notices = (Notice(code=CONTEXT_UNUSED, message=f"The context was not used: {why}"),)

    async def _budget(self, work: WorkItem, terms: Mapping[str, str], counted: dict[str, Sequence[int]]) -> Budget:
        """Return the most tokens of one engine request."""
        model, limits = self._model, self._model.entry.segment
        encoder, in_prompt = model.encoders[work.pair], terms and model.family.terms is not None
        prompt_tokens = encoder.bare_length
        if in_prompt:
            chars = sum(map(len, (*terms, *terms.values())))
            encode = partial(encoder.ids, "", terms)
            run_long = chars > INLINE_PLAN_CHARS
            ids = await self._model.planning.run(work.caller, chars, encode) if run_long else encode()
            prompt_tokens = len(ids)
        prompt_tokens += work.context_tokens
        max_tokens = (model.engine.max_model_len - prompt_tokens - ANSWER_MARGIN) // 2
        if max_tokens < MIN_SEGMENT_TOKENS:
            raise TooLargeError("terms", size=len(terms), limit=len(terms) // 2, unit="entries (with this model)")
        return Budget(
            max_tokens=max_tokens if limits.tokens is None else min(limits.tokens, max_tokens),
            max_sentences=limits.sentences,
            count=partial(encoder.count, counted=counted),
        )


def _planned(indices: range, work: WorkItem, options: TranslateOptions, budget: Budget) -> list[Plan]:
    plans: list[Plan] = []
    for index in indices:
        try:
            plans.append(plan_text(work.texts[index], work.pair, options, budget))
        except XmlSyntaxError as error:
            field = "text" if isinstance(work.request.text, str) else f"text[{index}]"
            raise InvalidRequestError([(field, str(error))]) from None
    return plans
