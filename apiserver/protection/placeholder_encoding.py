"""Placeholder encoding: writes placeholders for a model, and finds them again.

A spelling is literal or numbered (``<g1>``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from apiserver.formats.document import (
    FIRST_PLACEHOLDER,
    PLACEHOLDER_CHAR,
    Placeholder,
    PlaceholderKind,
    placeholder_char,
)
from apiserver.prompts.family import PlaceholderStyle

# A letter or digit that makes a longer word of the one beside it; Hangul and scripts without spaces have none.
LETTER: Final = r"[^\W\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uac00-\ud7a3]"
WORD_KINDS = frozenset({PlaceholderKind.NAME, PlaceholderKind.QUANTITY})


@dataclass(frozen=True, slots=True)
class EncodedText:
    """Text for the model, and each placeholder's spelling and character.

    Placeholders with one spelling (``%s`` twice) are restored in order. ``numbers`` are spellings that no letter may
    touch: 130 is not in 130er.
    """

    text: str
    spellings: tuple[tuple[str, str], ...]
    numbers: frozenset[str] = frozenset()

    def restore(self, output: str) -> str | None:
        """Return the output with placeholders; None if a spelling's count differs."""
        if not self.spellings:
            return output
        chars: dict[str, list[str]] = {}
        for spelling, char in self.spellings:
            chars.setdefault(spelling, []).append(char)
        # Longest first, so that {a} is not found inside {{a}}.
        longest_first = sorted(chars, key=len, reverse=True)
        pattern = "|".join(self._bounded(spelling) for spelling in longest_first)
        counts = Counter(match.group() for match in re.finditer(pattern, output))
        if counts != Counter(spelling for spelling, _ in self.spellings):
            return None
        return re.sub(pattern, lambda match: chars[match.group()].pop(0), output)

    def _bounded(self, spelling: str) -> str:
        """Return a pattern with word boundaries: Tom is not in Tomorrow."""
        is_number = spelling in self.numbers
        before = f"(?<!{LETTER})" if is_number or spelling[0].isalnum() else ""
        after = f"(?!{LETTER})" if is_number or spelling[-1].isalnum() else ""
        if spelling[0].isdigit():
            before += r"(?<!\d[.,:])"
        if spelling[-1].isdigit():  # 7 is not in 7:00
            after += r"(?![.,:]\d)"
        return f"{before}{re.escape(spelling)}{after}"


def placeholders_in(text: str) -> Iterator[tuple[str, int]]:
    """Yield each placeholder's character and index."""
    for match in PLACEHOLDER_CHAR.finditer(text):
        char = match.group()
        yield char, ord(char) - FIRST_PLACEHOLDER


def substitute(text: str, spellings: Mapping[str, str]) -> str:
    """Replace each placeholder's character by its spelling."""
    return "".join(spellings.get(char, char) for char in text) if spellings else text


def encode_literally(text: str, placeholders: Sequence[Placeholder], *, terms_in_prompt: bool) -> EncodedText | None:
    """Encode placeholders as they are written; None unless all are words.

    Terms are written in the target language, for the model to copy, unless the prompt lists them; numbers always.
    """
    present = [(char, placeholders[index]) for char, index in placeholders_in(text)]
    if not all(each.kind in WORD_KINDS and each.source.strip() and each.target.strip() for _, each in present):
        return None
    spellings = {
        char: each.source if terms_in_prompt and each.kind is PlaceholderKind.NAME else each.target
        for char, each in present
    }
    return EncodedText(substitute(text, spellings), tuple((each.target, char) for char, each in present))


def encode_in_style(text: str, placeholders: Sequence[Placeholder], style: PlaceholderStyle) -> EncodedText | None:
    """Encode placeholders in the family's style; None if it cannot spell one."""
    inside = {char for char, _ in placeholders_in(text)}
    numbers: dict[int, int] = {}
    count = 0
    spellings: list[tuple[str, str]] = []
    for char, index in placeholders_in(text):
        placeholder = placeholders[index]
        partner = placeholder.partner
        is_paired = partner is not None and placeholder_char(partner) in inside
        if index not in numbers:
            count += 1
        number = numbers.setdefault(index, count)
        match placeholder.kind:
            case PlaceholderKind.OPEN if is_paired and partner is not None:
                numbers[partner] = number
                template = style.open
            case PlaceholderKind.CLOSE if is_paired:
                template = style.close
            case PlaceholderKind.NAME:
                template = style.name or style.alone
            case PlaceholderKind.QUANTITY:
                template = style.quantity or style.alone
            case _:
                template = style.alone
        spelling = template.format(n=number)
        if spelling in text or (style.most is not None and number > style.most):
            return None
        spellings.append((spelling, char))
    encoded = substitute(text, {char: spelling for spelling, char in spellings})
    quantities = (spelling for spelling, char in spellings if _is_quantity(char, placeholders))
    apart = frozenset(spelling for spelling in quantities if not _touches_letter(encoded, spelling))
    return EncodedText(encoded, tuple(spellings), apart)


def _is_quantity(char: str, placeholders: Sequence[Placeholder]) -> bool:
    return placeholders[ord(char) - FIRST_PLACEHOLDER].kind is PlaceholderKind.QUANTITY


def _touches_letter(text: str, spelling: str) -> bool:
    escaped = re.escape(spelling)
    return re.search(f"{LETTER}{escaped}|{escaped}{LETTER}", text) is not None


def count_spelled(text: str, placeholders: Sequence[Placeholder]) -> int:
    """Count the text's placeholders; a pair of tags is one."""
    inside = {index for _, index in placeholders_in(text)}
    return sum(
        placeholders[index].kind is not PlaceholderKind.CLOSE or placeholders[index].partner not in inside
        for index in inside
    )


def is_well_nested(text: str, placeholders: Sequence[Placeholder]) -> bool:
    """Return whether every opening tag is closed later, and no pairs overlap.

    Tags whose partners are in other segments keep their order, outside of the pairs here.
    """
    inside = {index for _, index in placeholders_in(text)}
    openings: list[int] = []
    last_unpaired = -1
    for _, index in placeholders_in(text):
        placeholder = placeholders[index]
        if placeholder.partner is None:
            continue
        if placeholder.partner not in inside:
            if openings or index < last_unpaired:
                return False
            last_unpaired = index
            continue
        if placeholder.kind is PlaceholderKind.OPEN:
            openings.append(index)
        elif placeholder.kind is PlaceholderKind.CLOSE and (not openings or openings.pop() != placeholder.partner):
            return False
    return not openings
