"""The prompt of one pair: its pieces of text and control tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from apiserver.prompts.template_slots import CONTEXT, DELIMITER, TERM, TERMS, TEXT, TRANSLATION, delimiter_for, filled


@dataclass(frozen=True, slots=True)
class ControlToken:
    """A control token, written by us."""

    text: str


@dataclass(frozen=True, slots=True)
class TextPiece:
    """Text between two control tokens; special tokens in it are split."""

    text: str


Piece = ControlToken | TextPiece


MessagePart = ControlToken | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PairPrompt:
    """A family's prompt for one pair and model, ready to be filled."""

    _plain: tuple[MessagePart, ...]
    _with_terms: tuple[MessagePart, ...] | None
    _term_line: tuple[str, ...]
    _with_context: tuple[MessagePart, ...] | None = None
    _with_both: tuple[MessagePart, ...] | None = None

    @property
    def takes_context(self) -> bool:
        """Whether a prompt without terms can have a context."""
        return self._with_context is not None

    @property
    def takes_context_with_terms(self) -> bool:
        """Whether every prompt can have a context."""
        return self._with_both is not None or (self.takes_context and self._with_terms is None)

    @property
    def depends_on_text(self) -> bool:
        """Whether the prompt around a text depends on it (without terms)."""
        return any(DELIMITER in part for part in self._plain if not isinstance(part, ControlToken))

    def pieces(self, text: str, terms: Mapping[str, str] | None = None, context: str = "") -> tuple[Piece, ...]:
        """Return the prompt around a text.

        ``terms`` (term to translation) and ``context`` are ignored if the family has no prompt for them; of the two,
        terms matter more.
        """
        parts, values = self._plain, {TEXT: text, CONTEXT: context}
        if context and self._with_context is not None:
            parts = self._with_context
        if terms and self._with_terms is not None:
            parts = self._with_both if context and self._with_both is not None else self._with_terms
            values[TERMS] = "\n".join(
                filled(self._term_line, {TERM: term, TRANSLATION: translation}) for term, translation in terms.items()
            )
        if any(DELIMITER in part for part in parts if not isinstance(part, ControlToken)):
            values[DELIMITER] = delimiter_for(f"{text}\n{context}" if context else text)
        pieces = (part if isinstance(part, ControlToken) else TextPiece(filled(part, values)) for part in parts)
        return tuple(piece for piece in pieces if piece.text)
