"""Inquiry: asks one engine on behalf of one text, each request under an id of its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Final

from apiserver.generation import Ask
from apiserver.guards import Output, budget
from apiserver.lanes import CANARY_PRIORITY

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from apiserver.framing import Frame
    from apiserver.generation import Engine
    from apiserver.sampling import Sampling
    from apiserver.slots import Claim, Slots
    from apiserver.work import Work

# Room that a model's context must leave for the answer, beyond the source's own length.
ANSWER_MARGIN: Final = 16


@dataclass(frozen=True, slots=True)
class Inquiry:
    """What the requests of one text share; implements ``ladder.Asker``."""

    engine: Engine
    frame: Frame
    slots: Slots
    claim: Claim
    work: Work
    request_id: str
    _numbers: Iterator[int] = field(default_factory=count)

    async def __call__(self, words: str, terms: Mapping[str, str], sampling: Sampling) -> Output:
        """Ask once; a prompt that leaves no room for an answer counts as an answer that ran out of it.

        Raises:
            EngineGoneError: the engine died.
        """
        await self.slots.take(self.claim)  # before any work is done for it
        try:
            self.work.begin()
            prompt = self.frame.ids(words, terms)
            room = self.engine.max_model_len - len(prompt)
            if room < ANSWER_MARGIN:
                return Output("", "length", repeats=False, leaked_controls=False)
            most = min(budget(max(0, len(prompt) - self.frame.bare_length)), room)
            priority = CANARY_PRIORITY if self.claim.lane is None else self.claim.lane
            made = await self.engine.generate(
                Ask(prompt, sampling, most, priority), f"{self.request_id}-{next(self._numbers)}"
            )
        finally:
            self.slots.give(self.claim)
        return Output(made.text, made.finish_reason, repeats=made.repeats, leaked_controls=made.leaked_controls)
