"""Prompt encoder: words to a prompt's token ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from apiserver.catalog.model_entry import ModelEntry
from apiserver.engine.interface import Engine
from apiserver.prompts.family import PromptFamily
from apiserver.prompts.pair_prompt import TEXT, ControlToken, PairPrompt, Piece, PromptError
from apiserver.prompts.sampling import Sampling
from shared.languages import LanguagePair

# The highest ratio of output to source is about 2.5 (Chinese into English); 32 covers single words.
BUDGET_PER_TOKEN: Final = 3
BUDGET_EXTRA: Final = 32


@dataclass(slots=True)
class _Frame:
    """The prompt around any text, whose piece has ``before`` and ``after`` too."""

    head: list[int]
    before: str
    after: str
    tail: list[int]
    is_first: bool  # whether the text's piece begins the prompt


class PromptEncoder:
    """Prompts of one pair; ``bare_length`` counts their tokens without words."""

    def __init__(self, prompt: PairPrompt, engine: Engine, *, begin: bool) -> None:
        self._prompt = prompt
        self._engine = engine
        self._begin = list(engine.begin) if begin else []
        self._frame = None if prompt.depends_on_text else self._framed()
        self.bare_length = len(self.ids("", {}))
        self.takes_context = prompt.takes_context
        self.takes_context_with_terms = prompt.takes_context_with_terms

    @classmethod
    def of(cls, family: PromptFamily, pair: LanguagePair, engine: Engine) -> PromptEncoder:
        """Render a family's prompt; raises PromptError if the model is of another."""
        return cls(family.for_pair(pair, engine.chat_template, engine.controls), engine, begin=family.begin)

    def ids(
        self,
        words: str,
        terms: Mapping[str, str],
        counted: Mapping[str, Sequence[int]] | None = None,
        context: str = "",
    ) -> list[int]:
        """Return a prompt's token ids; ``counted`` is from :meth:`count`."""
        frame = self._frame
        if frame is None or terms or context:
            return [*self._begin, *self._piece_ids(self._prompt.pieces(words, terms, context))]
        if counted is None or (body := counted.get(words)) is None:
            body = self._engine.encode_text(f"{frame.before}{words}{frame.after}", first=frame.is_first)
        return [*frame.head, *body, *frame.tail]

    def count(self, words: str, counted: dict[str, Sequence[int]]) -> int:
        """Count tokens; keep ids that a prompt can use."""
        frame = self._frame
        if frame is None or frame.before or frame.after:
            return len(self._engine.encode_text(words))
        ids = counted[words] = self._engine.encode_text(words, first=frame.is_first)
        return len(ids)

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
    """Return a translation's output budget."""
    return BUDGET_PER_TOKEN * source_tokens + BUDGET_EXTRA


def sampling_for(entry: ModelEntry, engine: Engine) -> Sampling:
    """Return the sampling with its family's stop tokens, or raise PromptError without."""
    stops = [engine.controls[spelling] for spelling in entry.family.stop if spelling in engine.controls]
    if entry.family.stop and not stops:
        raise PromptError(
            f"answers of prompt {entry.family.name} end at {' or '.join(entry.family.stop)}, but the tokenizer of "
            f"{entry.path} has no such token: does the model belong to that family?"
        )
    ids = dict.fromkeys((*entry.effective_sampling.stop_token_ids, *stops))
    return entry.effective_sampling.model_copy(update={"stop_token_ids": tuple(ids)})
