"""Rendering: how a segment's marks travel through a model, and how they are found again in its answer. Pure.

A model never sees a mark's character. It sees the mark spelt out: literally (a placeholder as the client wrote it),
numbered (``<g1>``), or as a word that the model is known to copy. What comes back is accepted only if every mark is in
it exactly as often as in the segment: multiset equality, order free.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from apiserver.formats.document import (
    FIRST_PLACEHOLDER,
    PLACEHOLDER_CHAR,
    Placeholder,
    PlaceholderKind,
    placeholder_char,
)
from apiserver.prompts.family import PlaceholderStyle

WORD_KINDS = frozenset({PlaceholderKind.NAME, PlaceholderKind.QUANTITY})


@dataclass(frozen=True, slots=True)
class EncodedText:
    """Words for the model, and the spelling under which each mark (by its character) stands in them.

    Several marks may share a spelling (``%s`` twice); they come back in their order.
    """

    text: str
    spellings: tuple[tuple[str, str], ...]

    def restore(self, output: str) -> str | None:
        """Return the output with the marks' characters in place; None unless each spelling occurs as often as it must."""
        if not self.spellings:
            return output
        waiting: dict[str, list[str]] = {}
        for spelling, char in self.spellings:
            waiting.setdefault(spelling, []).append(char)
        # Longest first, so that <g1> is not found inside <g12>, nor {a} inside {{a}}.
        pattern = "|".join(_bounded(spelling) for spelling in sorted(waiting, key=len, reverse=True))
        found = Counter(match.group() for match in re.finditer(pattern, output))
        if found != {spelling: len(chars) for spelling, chars in waiting.items()}:
            return None
        return re.sub(pattern, lambda match: waiting[match.group()].pop(0), output)


def _bounded(spelling: str) -> str:
    """Match a spelling, as a whole word where it begins or ends like one: Tom is not in Tomorrow, nor 7 in 17."""
    before = r"(?<!\w)" if spelling[0].isalnum() else ""
    after = r"(?!\w)" if spelling[-1].isalnum() else ""
    return f"{before}{re.escape(spelling)}{after}"


def placeholders_in(text: str) -> Iterator[tuple[str, int]]:
    """Yield each mark's character in the text and the index of its mark, in order."""
    for match in PLACEHOLDER_CHAR.finditer(text):
        char = match.group()
        yield char, ord(char) - FIRST_PLACEHOLDER


def substitute(text: str, said: Mapping[str, str]) -> str:
    """Return the text with each mark's character replaced by what ``said`` has for it."""
    return "".join(said.get(char, char) for char in text) if said else text


def encode_literally(text: str, marks: Sequence[Placeholder], *, terms_in_prompt: bool) -> EncodedText | None:
    """Let marks for words stand in the text as they are written; None where there are others.

    A term stands there in the target language, for the model to copy, unless its prompt names the terms.
    """
    found = [(char, marks[index]) for char, index in placeholders_in(text)]
    if not all(mark.kind in WORD_KINDS and mark.source.strip() and mark.target.strip() for _, mark in found):
        return None
    said = {char: mark.source if terms_in_prompt else mark.target for char, mark in found}
    return EncodedText(substitute(text, said), tuple((mark.target, char) for char, mark in found))


def encode_in_style(text: str, marks: Sequence[Placeholder], style: PlaceholderStyle) -> EncodedText | None:
    """Spell every mark in the family's style; None where the style has no spelling (left) for one of them."""
    names = iter([name for name in style.names if name not in text])
    quantities = iter([number for number in style.quantities if number not in text])
    inside = {char for char, _ in placeholders_in(text)}
    numbers: dict[int, int] = {}
    spellings: list[tuple[str, str]] = []
    for char, index in placeholders_in(text):
        mark = marks[index]
        spelling: str | None
        partnered = mark.partner is not None and placeholder_char(mark.partner) in inside
        number = numbers.setdefault(index, len(numbers) + 1)
        match mark.kind:
            case PlaceholderKind.OPEN if partnered and mark.partner is not None:
                numbers[mark.partner] = number
                spelling = _numbered(style.open, number)
            case PlaceholderKind.CLOSE if partnered:
                spelling = _numbered(style.close, number)
            case PlaceholderKind.NAME if style.names:
                spelling = next(names, None)
            case PlaceholderKind.QUANTITY if style.quantities:
                spelling = next(quantities, None)
            case _:
                spelling = _numbered(style.alone, number)
        if spelling is None or spelling in text:
            return None
        spellings.append((spelling, char))
    said = {char: spelling for spelling, char in spellings}
    return EncodedText(substitute(text, said), tuple(spellings))


def _numbered(template: str | None, number: int) -> str | None:
    return None if template is None else template.format(n=number)


def is_well_nested(text: str, marks: Sequence[Placeholder]) -> bool:
    """Say whether every stretch that a mark opens is closed after it, and stretches do not overlap."""
    inside = {index for _, index in placeholders_in(text)}
    opened: list[int] = []
    for _, index in placeholders_in(text):
        mark = marks[index]
        if mark.partner not in inside:
            continue
        if mark.kind is PlaceholderKind.OPEN:
            opened.append(index)
        elif mark.kind is PlaceholderKind.CLOSE and (not opened or opened.pop() != mark.partner):
            return False
    return not opened
