"""Prompt encoder: from words to the token ids of a pair's whole prompt."""

from __future__ import annotations

from collections.abc import Mapping

from apiserver.catalog.model_entry import ModelEntry
from apiserver.engine.interface import Engine
from apiserver.prompts.family import PromptFamily
from apiserver.prompts.pair_prompt import ControlToken, PairPrompt
from apiserver.prompts.sampling import Sampling
from apiserver.prompts.template_slots import PromptError
from shared.languages import LanguagePair


class PromptEncoder:
    """Turns words into prompts of one pair; ``begin`` puts the tokenizer's own beginning before them.

    ``bare_length`` is the number of tokens that a prompt has without any words.
    """

    def __init__(self, prompt: PairPrompt, engine: Engine, *, begin: bool) -> None:
        self._prompt = prompt
        self._engine = engine
        self._begin = tuple(engine.begin) if begin else ()
        self.bare_length = len(self.ids("", {}))

    @classmethod
    def of(cls, family: PromptFamily, pair: LanguagePair, engine: Engine) -> PromptEncoder:
        """Render a family's prompt for a pair on the engine's model.

        Raises:
            PromptError: the model's chat template or tokenizer is not that of the family.
        """
        return cls(family.for_pair(pair, engine.chat_template, engine.controls), engine, begin=family.begin)

    def ids(self, words: str, terms: Mapping[str, str]) -> list[int]:
        """Return the whole prompt as token ids."""
        ids = list(self._begin)
        for number, piece in enumerate(self._prompt.pieces(words, terms)):
            if isinstance(piece, ControlToken):
                ids.append(self._engine.controls[piece.text])
            else:
                ids += self._engine.encode_text(piece.text, first=number == 0)
        return ids


def sampling_for(entry: ModelEntry, engine: Engine) -> Sampling:
    """Return how the entry's model chooses tokens, the ids of its family's stop tokens among it.

    Raises:
        PromptError: the family's prompt needs stop tokens, and the tokenizer has none of them.
    """
    stops = [engine.controls[spelling] for spelling in entry.family.stop if spelling in engine.controls]
    if entry.family.stop and not stops:
        message = (
            f"answers of prompt {entry.family.name} end at {' or '.join(entry.family.stop)}, which the tokenizer of "
            f"{entry.path} has not: is the model of that family?"
        )
        raise PromptError(message)
    ids = dict.fromkeys((*entry.effective_sampling.stop_token_ids, *stops))
    return entry.effective_sampling.model_copy(update={"stop_token_ids": tuple(ids)})
