"""Placeholder encoding: writes placeholders for a model, and finds them again.

A spelling is literal or numbered (``<g1>``).
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Collection, Iterator, Mapping, Sequence
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
from apiserver.protection.glossary import PhraseIndex

# A letter or digit that makes a longer word of the one beside it; Hangul and scripts without spaces have none.
LETTER: Final = r"[^\W\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uac00-\ud7a3]"
_LETTER: Final = re.compile(LETTER)  # once, because that takes 1 ms
_DECIMAL_BEFORE: Final = re.compile(r"\d[.,:]")
_DECIMAL_BEHIND: Final = re.compile(r"[.,:]\d")
# No model copies longer code to the letter, and its look-up is slow where it repeats itself.
MAX_LITERAL: Final = 1000
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
        chars: defaultdict[str, deque[str]] = defaultdict(deque)
        for spelling, char in self.spellings:
            chars[spelling].append(char)
        parts: list[str] = []
        copied = 0
        for start, spelling in self._places(output, PhraseIndex(chars)):
            if not chars[spelling]:
                return None
            parts += [output[copied:start], chars[spelling].popleft()]
            copied = start + len(spelling)
        return None if any(chars.values()) else "".join([*parts, output[copied:]])

    def _places(self, output: str, index: PhraseIndex) -> Iterator[tuple[int, str]]:
        """Yield the spellings in order: {{a}} rather than the {a} inside it."""
        end = 0
        for start in index.places(output):
            if start < end or (output[start].isalnum() and _is_letter(output, start - 1)):
                continue
            for spelling in index.phrases_at(output, start):
                if self._is_whole(output, start, spelling):
                    yield start, spelling
                    end = start + len(spelling)
                    break

    def _is_whole(self, output: str, start: int, spelling: str) -> bool:
        """Return whether no longer word or number has it: Tom, not Tomorrow."""
        end, is_number = start + len(spelling), spelling in self.numbers
        if (is_number or spelling[0].isalnum()) and _is_letter(output, start - 1):
            return False
        if (is_number or spelling[-1].isalnum()) and _is_letter(output, end):
            return False
        if spelling[0].isdigit() and _DECIMAL_BEFORE.fullmatch(output, max(0, start - 2), start):
            return False
        # 7 is not in 7:00
        return not (spelling[-1].isdigit() and _DECIMAL_BEHIND.match(output, end))


def _is_letter(text: str, place: int) -> bool:
    return place >= 0 and _LETTER.match(text, place) is not None


def placeholders_in(text: str) -> Iterator[tuple[str, int]]:
    """Yield each placeholder's character and index."""
    for match in PLACEHOLDER_CHAR.finditer(text):
        char = match.group()
        yield char, ord(char) - FIRST_PLACEHOLDER


def substitute(text: str, spellings: Mapping[str, str]) -> str:
    """Replace each placeholder's character by its spelling."""
    return "".join(spellings.get(char, char) for char in text) if spellings else text


def encode_literally(text: str, placeholders: Sequence[Placeholder], *, terms_in_prompt: bool) -> EncodedText | None:
    """Encode placeholders as they are written; None unless all are short words.

    Terms are written in the target language, for the model to copy, unless the prompt lists them; numbers always.
    """
    present = [(char, placeholders[index]) for char, index in placeholders_in(text)]
    if not all(each.kind in WORD_KINDS and each.source.strip() and each.target.strip() for _, each in present):
        return None
    if any(len(each.target) > MAX_LITERAL for _, each in present):
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
    taken: dict[str, Collection[str]] = {}
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
        if template not in taken:
            taken[template] = _numbers_in(text, template)
        if str(number) in taken[template] or (style.most is not None and number > style.most):
            return None
        spellings.append((template.format(n=number), char))
    encoded = substitute(text, {char: spelling for spelling, char in spellings})
    return EncodedText(encoded, tuple(spellings), frozenset(_numbers_apart(encoded, spellings, placeholders)))


def _numbers_in(text: str, template: str) -> set[str]:
    """Return what the text has in the place of a template's number."""
    before, _, behind = template.partition("{n}")
    return {part.partition(behind)[0] for part in text.split(before)[1:]}


def _numbers_apart(
    encoded: str, spellings: Sequence[tuple[str, str]], placeholders: Sequence[Placeholder]
) -> Iterator[str]:
    """Yield the quantities' spellings that no letter touches."""
    end = 0
    for spelling, char in spellings:
        start = encoded.index(spelling, end)
        end = start + len(spelling)
        is_quantity = placeholders[ord(char) - FIRST_PLACEHOLDER].kind is PlaceholderKind.QUANTITY
        if is_quantity and not _is_letter(encoded, start - 1) and not _is_letter(encoded, end):
            yield spelling


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
