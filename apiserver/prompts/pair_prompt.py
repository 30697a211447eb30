"""The prompt of one pair: its pieces of text and control tokens."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from string import Formatter
from typing import Final


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
    """A family's prompt for one pair and model."""

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
        """Return the prompt around a text; unsupported ``terms`` and ``context`` are ignored."""
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


# Sentinels, which no template may contain.
TEXT: Final = "\ue000"
TERMS: Final = "\ue001"
DELIMITER: Final = "\ue002"
TERM: Final = "\ue003"
TRANSLATION: Final = "\ue004"
CONTEXT: Final = "\ue005"
_SENTINELS: Final = re.compile(f"([{TEXT}-{CONTEXT}])")

# The tags around a text; if the text contains the name, a number follows.
DELIMITER_NAME: Final = "source_text"
_NAMES_WITHIN: Final = re.compile(DELIMITER_NAME + "([0-9]{0,9})", re.IGNORECASE)


class PromptError(ValueError):
    """A prompt cannot be rendered for this model or pair."""


def slots_of(template: str) -> Counter[str]:
    """Count slots by name (``{{`` is a brace), or raise PromptError."""
    if _SENTINELS.search(template):
        raise PromptError("a prompt cannot contain the private-use characters U+E000 to U+E005")
    try:
        fields = [field for field in Formatter().parse(template) if field[1] is not None]
    except ValueError as error:
        raise PromptError(f"{error}; write {{{{ and }}}} for braces that are not slots") from error
    for _, name, form, conversion in fields:
        if form or conversion or not (name or "").isidentifier():
            raise PromptError(f"{{{name}}} is not a slot; a slot is a name in braces, and {{{{ writes a brace")
    return Counter(name or "" for _, name, _, _ in fields)


def with_slots(template: str, values: Mapping[str, str]) -> str:
    """Fill the slots, or raise PromptError if ``values`` lacks one."""
    if unknown := sorted(slots_of(template).keys() - values.keys()):
        raise PromptError(f"{{{unknown[0]}}} is not a slot here; slots are {', '.join(sorted(values))}")
    return "".join(
        literal + ("" if name is None else values[name]) for literal, name, _, _ in Formatter().parse(template)
    )


def sentinels_in(rendered: str) -> Counter[str]:
    """Count the sentinels."""
    return Counter(_SENTINELS.findall(rendered))


def cut(rendered: str) -> tuple[str, ...]:
    """Split into fixed parts and sentinels."""
    return tuple(part for part in _SENTINELS.split(rendered) if part)


def filled(parts: tuple[str, ...], values: Mapping[str, str]) -> str:
    """Join the parts of ``cut``, with ``values`` in place of the sentinels."""
    return "".join(values.get(part, part) for part in parts)


def delimiter_for(text: str) -> str:
    """Return a tag name that the text lacks (ignoring case); linear time."""
    taken = set(_NAMES_WITHIN.findall(text))
    # One more number than occurrences.
    free = next(str(number) for number in range(2, len(taken) + 3) if str(number) not in taken)
    return f"{DELIMITER_NAME}{free if taken else ''}"
