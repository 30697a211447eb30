"""Engine requests of one text: prompts, limits, batch slots."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol, TypeVar

from apiserver.engine.interface import GenerationRequest, GenerationResult
from apiserver.engine.prompt_encoder import max_output_tokens
from apiserver.prompts.sampling import Sampling
from apiserver.scheduling.batch_slots import CANARY_PRIORITY, SHORT_SEGMENTS
from apiserver.scheduling.work_item import WorkItem
from apiserver.translation.planner import Plan
from apiserver.translation.running_model import RunningModel
from shared.protocol.priority import Lane

T = TypeVar("T")

# Tokens of the context that must stay free for the answer, in addition to the source's length.
ANSWER_MARGIN: Final = 16
# Of a source and its output: their checks take at most 20 ms. Longer ones run in a thread, or the event loop waits.
INLINE_CHECK_CHARS: Final = 4000
# For each of these characters, at most: the outputs of one engine step arrive at once.
CHECK_SECONDS: Final = 5e-6
# At most, for one call beside its characters: tiny texts cost hardly less than short ones.
CALL_SECONDS: Final = 1e-4


class LongRunner(Protocol):
    """Place for functions on long texts, which would hold the event loop."""

    async def __call__(self, chars: int, function: Callable[[], T], /) -> T:
        """Return what the function returns, when it is the caller's turn."""
        ...


async def _run_at_once(chars: int, function: Callable[[], T], /) -> T:
    del chars
    return function()


async def _take_any_turn(seconds: float, /) -> None:
    del seconds


@dataclass(slots=True)
class TurnRunner:
    """Place of a text's functions: the event loop in turn, or elsewhere.

    ``take_turn`` waits for a turn of so many seconds.
    """

    run_long: LongRunner = _run_at_once
    take_turn: Callable[[float], Awaitable[None]] = _take_any_turn

    async def run(self, chars: int, function: Callable[[], T]) -> T:
        """Return what a function on so many characters returns."""
        if chars > INLINE_CHECK_CHARS:
            return await self.run_long(chars, function)
        await self.take_turn(CALL_SECONDS + chars * CHECK_SECONDS)
        return function()


class EngineRequests:
    """The engine requests of one text.

    ``on_slot`` is called when one holds a batch slot. Mutable state: that, and the number of requests sent.
    """

    def __init__(
        self, model: RunningModel, work: WorkItem, plan: Plan, index: int, turn: int, runner: TurnRunner
    ) -> None:
        self.on_slot: Callable[[], None] | None = None
        self._model = model
        self._work = work
        self._index = index
        self._turn = turn
        self._runner = runner
        is_long = plan.segment_count > SHORT_SEGMENTS
        self._lane = None if work.canary else Lane.of(work.priority, is_long=is_long)
        self._encoder = model.encoders[plan.pair]
        self._sent = 0

    async def output(self, text: str, terms: Mapping[str, str], sampling: Sampling) -> GenerationResult:
        """Request one output, once it has a batch slot.

        ``terms`` are for the family's term prompt.

        Raises:
            EngineGoneError: the engine died.
        """
        lane = self._lane
        if lane is None:
            return await self._output(text, terms, sampling, CANARY_PRIORITY)
        await self._model.slots.acquire(lane, self._work, self._turn)  # before the prompt is encoded
        try:
            if self.on_slot is not None:
                self.on_slot()
            return await self._output(text, terms, sampling, lane)
        finally:
            self._model.slots.release(lane)

    async def _output(self, text: str, terms: Mapping[str, str], sampling: Sampling, priority: int) -> GenerationResult:
        """Encode the prompt and ask.

        A prompt that leaves no space for an answer counts as an answer cut at its length.
        """
        engine, work = self._model.engine, self._work
        encode = partial(self._encoder.ids, text, terms, work.counted, work.context)
        chars = len(text) + len(work.context) + sum(map(len, (*terms, *terms.values())))
        prompt = await self._runner.run(chars, encode)
        free_tokens = engine.max_model_len - len(prompt)
        if free_tokens < ANSWER_MARGIN:
            return GenerationResult("", "length")
        has_context = not terms or self._encoder.takes_context_with_terms
        context_tokens = work.context_tokens if has_context else 0
        source_tokens = max(0, len(prompt) - self._encoder.bare_length - context_tokens)
        max_tokens = min(max_output_tokens(source_tokens), free_tokens)
        request_id = f"{work.request_id}-{self._index}-{self._sent}"
        self._sent += 1
        request = GenerationRequest(prompt, sampling, max_tokens, priority, work.request.wants_confidence)
        return await engine.generate(request, request_id)
