"""Prompt encoder: from words to the token ids of a pair's whole prompt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from apiserver.catalog.model_entry import ModelEntry
from apiserver.engine.interface import Engine
from apiserver.prompts.family import PromptFamily
from apiserver.prompts.pair_prompt import ControlToken, PairPrompt, Piece
from apiserver.prompts.sampling import Sampling
from apiserver.prompts.template_slots import TEXT, PromptError
from shared.languages import LanguagePair

# Output tokens allowed for a source of n tokens: 3 n + 32. The longest ratio between languages in one vocabulary is
# about 2.5 (Chinese into English); the constant covers single words. Longer output is a loop, not a translation.
BUDGET_PER_TOKEN: Final = 3
BUDGET_EXTRA: Final = 32


@dataclass(slots=True)
class _Frame:
    """The prompt around any text: ids, and the words in the text's own piece before and behind it."""

    head: list[int]
    before: str
    after: str
    tail: list[int]
    is_first: bool  # nothing of the prompt is before the piece


class PromptEncoder:
    """Turns words into prompts of one pair; ``begin`` puts the tokenizer's own beginning before them.

    ``bare_length`` is the number of tokens that a prompt has without any words.
    """

    def __init__(self, prompt: PairPrompt, engine: Engine, *, begin: bool) -> None:
        self._prompt = prompt
        self._engine = engine
        self._begin = list(engine.begin) if begin else []
        self._frame = None if prompt.depends_on_text else self._framed()
        self.bare_length = len(self.ids("", {}))

    @classmethod
    def of(cls, family: PromptFamily, pair: LanguagePair, engine: Engine) -> PromptEncoder:
        """Render a family's prompt for a pair on the engine's model.

        Raises:
            PromptError: the model's chat template or tokenizer is not that of the family.
        """
        return cls(family.for_pair(pair, engine.chat_template, engine.controls), engine, begin=family.begin)

    def ids(
        self, words: str, terms: Mapping[str, str], counted: Mapping[str, Sequence[int]] | None = None
    ) -> list[int]:
        """Return the whole prompt as token ids; ``counted`` are words whose ids :meth:`count` has kept."""
        frame = self._frame
        if frame is None or terms:
            return [*self._begin, *self._piece_ids(self._prompt.pieces(words, terms))]
        body = None if counted is None else counted.get(words)
        if body is None:
            body = self._engine.encode_text(f"{frame.before}{words}{frame.after}", first=frame.is_first)
        return [*frame.head, *body, *frame.tail]

    def count(self, words: str, counted: dict[str, Sequence[int]]) -> int:
        """Count the tokens of words, and keep their ids where a prompt has just these."""
        frame = self._frame
        if frame is None or frame.before or frame.after:
            return len(self._engine.encode_text(words))
        counted[words] = self._engine.encode_text(words, first=frame.is_first)
        return len(counted[words])

    def _framed(self) -> _Frame:
        pieces = self._prompt.pieces(TEXT)
        number = next(number for number, piece in enumerate(pieces) if TEXT in piece.text)
        before, after = pieces[number].text.split(TEXT)
        head = [*self._begin, *self._piece_ids(pieces[:number])]
        return _Frame(head, before, after, self._piece_ids(pieces[number + 1 :], first=number + 1), number == 0)

    def _piece_ids(self, pieces: Sequence[Piece], first: int = 0) -> list[int]:
        ids: list[int] = []
        for number, piece in enumerate(pieces, first):
            if isinstance(piece, ControlToken):
                ids.append(self._engine.controls[piece.text])
            else:
                ids += self._engine.encode_text(piece.text, first=number == 0)
        return ids


def max_output_tokens(source_tokens: int) -> int:
    """Return how many tokens the translation of that many may have."""
    return BUDGET_PER_TOKEN * source_tokens + BUDGET_EXTRA


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
