"""Neighbours: signs and words between two numbers, such as 5–1 or 1,2."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from shared.languages import LanguagePair, language_of

_SPACES: Final = " \u00a0\u202f"
_DASHES: Final = "-–—‑"
# Characters between two numbers that still belong together.
_MOST_BETWEEN: Final = 24
_WORDS: Final[Mapping[str, str]] = {"en": "to", "de": "zu|bis", "fr": "à", "es": "a"}
_BETWEEN: Final = {
    language: rf"(?P<decimal>[.,])|(?P<space>[{_SPACES}])|[{_SPACES}]?[{_DASHES}][{_SPACES}]?|[{_SPACES}](?:{words})[{_SPACES}]"
    for language, words in _WORDS.items()
}
# Groups of thousands have spaces and signs too. Behind more signs are dates, ranges and telephone numbers.
_PAIRS: Final = {
    language: re.compile(
        rf"(?<![\w.,:/+{_DASHES}])(?<!\d[{_SPACES}])(?P<one>\d{{1,9}})(?:{between})(?P<other>\d{{1,9}})"
        rf"(?![\w%€$£:/{_DASHES}]|[.,]\d|[{_SPACES}]\d)"
    )
    for language, between in _BETWEEN.items()
}
_THOUSAND: Final = 3
_SHORT, _YEAR = 3, 4
# What may stand between the two in a translation: a single dash, a sign, or one of these words.
_JOINTS: Final[Mapping[str, str]] = {
    "en": "to|and|or|till|until|through|by|against",
    "de": "zu|bis|und|oder|auf|gegen",
    "fr": "à|au|et|ou|jusqu|contre",
    "es": "a|al|y|o|u|e|hasta|contra",
}
_JOINT: Final = {
    language: re.compile(rf"(?<![{_DASHES}])[{_DASHES}:/](?![{_DASHES}])|(?<!\w)(?:{words})(?!\w)", re.IGNORECASE)
    for language, words in _JOINTS.items()
}
_DIGITS: Final = re.compile(r"\d+")


def changed_neighbours(source: str, translation: str, pair: LanguagePair) -> Iterator[tuple[int, int]]:
    """Yield pairs of numbers that the translation joins or parts otherwise."""
    pattern, joint = _PAIRS.get(language_of(pair.source)), _JOINT.get(language_of(pair.target))
    matches = [] if pattern is None else list(pattern.finditer(source))
    if not matches or joint is None:
        return
    theirs = _between(translation)
    for match in matches:
        one, other = match["one"], match["other"]
        if match["decimal"] is None and match["space"] is None:
            found = [*theirs[one, other], *theirs[other, one]] if _is_range(one, other) else []
            is_changed = bool(found) and not any(map(joint.search, found))
        else:
            is_changed = len(other) != _THOUSAND and _is_swapped(
                theirs[one, other], is_spaced=match["space"] is not None
            )
        if is_changed:
            yield match.span()


def _between(text: str) -> defaultdict[tuple[str, str], list[str]]:
    """Return what stands between each two numbers, if it is short."""
    between: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for one, other in pairwise(_DIGITS.finditer(text)):
        if other.start() - one.end() <= _MOST_BETWEEN:
            between[one.group(), other.group()].append(text[one.end() : other.start()])
    return between


def _is_range(one: str, other: str) -> bool:
    """Return whether two numbers are years, or too short for telephones."""
    return max(len(one), len(other)) <= _SHORT or len(one) == len(other) == _YEAR


def _is_swapped(found: Sequence[str], *, is_spaced: bool) -> bool:
    """Return whether a space became a decimal sign, or the other way."""
    signs = [bool(between) and between in ".,:" for between in found]
    spaces = [not between.strip(_SPACES) for between in found]
    return any(signs) and not any(spaces) if is_spaced else any(spaces) and not any(signs)
