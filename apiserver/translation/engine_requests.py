"""Engine requests: asks the engine for the outputs of one text, each under an id of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Final

from apiserver.engine.interface import Engine, GenerationRequest, GenerationResult
from apiserver.engine.prompt_encoder import PromptEncoder
from apiserver.guards.issues import max_output_tokens
from apiserver.prompts.sampling import Sampling
from apiserver.scheduling.batch_slots import CANARY_PRIORITY, BatchSlots
from apiserver.scheduling.fair_queue import SlotRequest
from apiserver.scheduling.work_item import WorkItem

# Tokens that a model's context must leave for the answer, beyond the source's own length.
ANSWER_MARGIN: Final = 16


@dataclass(frozen=True, slots=True)
class EngineRequester:
    """Sends the engine requests of one text; implements ``segment_translator.OutputRequester``."""

    engine: Engine
    encoder: PromptEncoder
    slots: BatchSlots
    slot_request: SlotRequest
    work_item: WorkItem
    request_id: str
    _numbers: Iterator[int] = field(default_factory=count)

    async def __call__(self, text: str, terms: Mapping[str, str], sampling: Sampling) -> GenerationResult:
        """Ask once; a prompt that leaves no space for an answer counts as an answer cut at its length.

        Raises:
            EngineGoneError: the engine died.
        """
        await self.slots.acquire(self.slot_request)  # before any work is done for it
        try:
            self.work_item.begin()
            prompt = self.encoder.ids(text, terms)
            free_tokens = self.engine.max_model_len - len(prompt)
            if free_tokens < ANSWER_MARGIN:
                return GenerationResult("", "length")
            source_tokens = max(0, len(prompt) - self.encoder.bare_length)
            max_tokens = min(max_output_tokens(source_tokens), free_tokens)
            priority = CANARY_PRIORITY if self.slot_request.lane is None else self.slot_request.lane
            return await self.engine.generate(
                GenerationRequest(prompt, sampling, max_tokens, priority), f"{self.request_id}-{next(self._numbers)}"
            )
        finally:
            self.slots.release(self.slot_request)
