"""Masks: names and numbers of a segment that travel as placeholders.

A model that changes names and numbers copies placeholders, which are numbered tags. The output gets back what they
stand for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from apiserver.catalog.model_entry import MaskKind
from apiserver.formats.document import (
    MAX_PLACEHOLDERS,
    PLACEHOLDER_CHAR,
    Placeholder,
    PlaceholderKind,
    placeholder_char,
)
from apiserver.guards.names.candidates import Candidate, CandidateKind, candidates_in
from apiserver.guards.numbers.reader import numbers_in
from apiserver.guards.numbers.readings import NumberKind
from apiserver.guards.numbers.substitution import substitutes
from apiserver.guards.quality_guard import DATE_CHANGED, NUMBER_CHANGED, OutputIssue
from apiserver.prompts.family import PlaceholderStyle
from apiserver.protection.placeholder_encoding import WORD_KINDS, count_spelled, placeholders_in
from shared.languages import LanguagePair, language_of

# A model knows a name of so few tokens.
KNOWN_TOKENS: Final = 1
# Of a kind in one segment; a model that learnt one spelling for both kinds keeps no more of them apart.
MAX_MASKS: Final = 8
# Names that end so have no s in the genitive.
_SIBILANTS: Final = ("s", "ß", "x", "z")
_JOINT: Final = re.compile("[ \u00a0/-]")
# A number of these is followed by another form of the noun.
_SINGULARS: Final = frozenset({"0", "1"})
_DECIMAL: Final = re.compile(r"\d+(?:[.,]\d{1,2}|[.,]\d{4,}|/\d+)")
_WORD_CHAR: Final = re.compile(r"\w")
_HALF_DAY: Final = re.compile(r"\s?[AaPp]\.?\s?[Mm]\b")
# Annas Haus; names that end with an s have an apostrophe there.
_GERMAN_GENITIVE: Final = re.compile(r"(?<=[^\W\d_s])s [A-ZÄÖÜ]")
_POSSESSIVE: Final = re.compile(rf"({PLACEHOLDER_CHAR.pattern})(?=['’]s(?!\w))")
_GENITIVE: Final = re.compile(rf"({PLACEHOLDER_CHAR.pattern})s(?!\w)")


class Mask(NamedTuple):
    """A part of a segment, and what it becomes in the translation."""

    start: int
    end: int
    kind: PlaceholderKind
    target: str


@dataclass(frozen=True, slots=True)
class MaskPolicy:
    """Choice of the masks for one model; ``count`` counts a word's tokens."""

    kinds: Collection[MaskKind]
    count: Callable[[str], int]

    def find(self, text: str, pair: LanguagePair) -> list[Mask]:
        """Return the masks of a segment."""
        masks: list[Mask] = []
        if MaskKind.NAMES in self.kinds:
            names = candidates_in(text, pair.source)
            # Words that are names too may be words here: masked if the model changes them.
            unknown = (name for name in names if not name.is_word and not self._knows(name))
            masks += [Mask(name.start, name.end, PlaceholderKind.NAME, name.text) for name in unknown]
        if MaskKind.NUMBERS in self.kinds:
            masks += _number_masks(text, pair, _copied_numbers(text, pair))
        return masks

    def _knows(self, name: Candidate) -> bool:
        return name.kind is not CandidateKind.CODE and self.count(name.text) <= KNOWN_TOKENS


def masks_of_values(text: str, issues: Iterable[OutputIssue], pair: LanguagePair) -> Iterator[Mask]:
    """Yield the places of the values that an output lost."""
    for issue in issues:
        if issue.code == NUMBER_CHANGED.code:
            yield from _number_masks(text, pair, issue.values)
            continue
        if issue.code == DATE_CHANGED.code:  # a placeholder would keep the source's word
            continue
        for value in issue.values:
            for start in _places_of(value, text):
                yield Mask(start, start + len(value), PlaceholderKind.NAME, value)


def _places_of(value: str, text: str) -> Iterator[int]:
    """Yield where a text has a value that no longer word contains."""
    start = text.find(value)
    while start >= 0:
        end = start + len(value)
        is_whole = not any(map(_WORD_CHAR.match, (text[max(0, start - 1) : start], text[end : end + 1])))
        if is_whole:
            yield start
        start = text.find(value, end if is_whole else start + 1)


def _number_masks(text: str, pair: LanguagePair, values: Collection[str]) -> Iterator[Mask]:
    for number in substitutes(text, pair, values):
        yield Mask(number.start, number.end, PlaceholderKind.QUANTITY, number.target)


def _copied_numbers(text: str, pair: LanguagePair) -> set[str]:
    """Return the numbers that every model should copy.

    Without words and scales, 0 and 1 (grammar), decimals (notation), fractions, and 12-hour times.
    """
    copied: set[str] = set()
    for mention in numbers_in(text, language_of(pair.source)) or ():
        number = text[mention.start : mention.end]
        is_plain = mention.kind in {NumberKind.DIGITS, NumberKind.CLOCK} and mention.plain is None
        if (
            is_plain
            and number not in _SINGULARS
            and not _DECIMAL.fullmatch(number)
            and not _HALF_DAY.match(text, mention.end)
        ):
            copied.add(number)
    return copied


@dataclass(frozen=True, slots=True)
class MaskedText:
    """A segment with placeholders for its masks, behind its own in ``placeholders``.

    ``stems``: targets without the s of a German genitive, by placeholder.
    """

    text: str
    placeholders: tuple[Placeholder, ...]
    targets: dict[str, str]
    stems: dict[str, str]

    def restore(self, text: str) -> str:
        """Return a translation with the masks' targets: Lukas', not Lukass."""
        text = _POSSESSIVE.sub(lambda match: self.stems.get(match[1], match[1]), _GENITIVE.sub(self._genitive, text))
        return "".join(self.targets.get(char, char) for char in text)

    def _genitive(self, match: re.Match[str]) -> str:
        return f"{match[1]}’" if self.targets.get(match[1], "")[-1:] in _SIBILANTS else match.group()


def apply_masks(
    text: str, placeholders: Sequence[Placeholder], masks: Iterable[Mask], style: PlaceholderStyle
) -> MaskedText | None:
    """Replace as many masks as the style can spell; None without any."""
    left = _free_masks(text, placeholders)
    most = MAX_PLACEHOLDERS
    if style.most is not None:
        most = min(most, len(placeholders) + style.most - count_spelled(text, placeholders))
    parts: list[str] = []
    extended, targets, stems, copied = list(placeholders), dict[str, str](), dict[str, str](), 0
    for each in _joined(text, sorted(masks)):
        if each.start < copied or not left[each.kind] or len(extended) >= most:
            continue
        left[each.kind] -= 1
        char = placeholder_char(len(extended))
        extended.append(Placeholder(each.kind, text[each.start : each.end], each.target, is_text=True))
        targets[char] = each.target
        if each.kind is PlaceholderKind.NAME and _GERMAN_GENITIVE.match(text, each.end - 1) is not None:
            stems[char] = each.target[:-1]
        parts += [text[copied : each.start], char]
        copied = each.end
    if not targets:
        return None
    return MaskedText("".join([*parts, text[copied:]]), tuple(extended), targets, stems)


def _joined(text: str, masks: Iterable[Mask]) -> Iterator[Mask]:
    """Yield the masks, neighbours as one: Priyanka Deshmukh, 0151 234567."""
    last: Mask | None = None
    for each in masks:
        if last is not None and last.kind is each.kind and _JOINT.fullmatch(text, last.end, each.start):
            last = Mask(last.start, each.end, each.kind, f"{last.target}{text[last.end : each.start]}{each.target}")
            continue
        if last is not None:
            yield last
        last = each
    if last is not None:
        yield last


def _free_masks(text: str, placeholders: Sequence[Placeholder]) -> dict[PlaceholderKind, int]:
    """Count the masks that the segment can still have, by kind."""
    kinds = [placeholders[index].kind for _, index in placeholders_in(text)]
    return {kind: max(0, MAX_MASKS - kinds.count(kind)) for kind in WORD_KINDS}
