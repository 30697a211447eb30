"""The prompt of one pair: its pieces of text and control tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from apiserver.prompts.template_slots import DELIMITER, TERM, TERMS, TEXT, TRANSLATION, delimiter_for, filled


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

    @property
    def depends_on_text(self) -> bool:
        """Whether the prompt around a text depends on it (without terms)."""
        return any(DELIMITER in part for part in self._plain if not isinstance(part, ControlToken))

    def pieces(self, text: str, terms: Mapping[str, str] | None = None) -> tuple[Piece, ...]:
        """Return the prompt around a text.

        ``terms`` (term to translation) are ignored if the family has no prompt for them.
        """
        parts, values = self._plain, {TEXT: text}
        if terms and self._with_terms is not None:
            parts = self._with_terms
            values[TERMS] = "\n".join(
                filled(self._term_line, {TERM: term, TRANSLATION: translation}) for term, translation in terms.items()
            )
        if any(DELIMITER in part for part in parts if not isinstance(part, ControlToken)):
            values[DELIMITER] = delimiter_for(text)
        pieces = (part if isinstance(part, ControlToken) else TextPiece(filled(part, values)) for part in parts)
        return tuple(piece for piece in pieces if piece.text)
