"""Number conventions: numbers to copy, as the target language writes them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from babel import UnknownLocaleError
from babel.numbers import get_group_symbol

from shared.languages import LanguagePair

# A catalog serves a few dozen languages.
CACHED_TAGS: Final = 512
# A longer run of digits has no groups.
MOST_DIGITS: Final = 24
# Digits by themselves, perhaps in groups, or hours and minutes. Signs and letters at an end make something else of them.
_NUMBER: Final = re.compile(
    r"(?<![\w.,:/$€£¥#@+−-])(?:(?P<clock>[012]?\d:[0-5]\d)(?!\s?[AaPp]\.?[Mm]\b)"
    r"|(?P<groups>\d{1,3}(?:[.,'’ \u00a0\u202f]\d{3}){1,5})|(?P<digits>\d{1,24}))"
    r"(?![\w%‰°€£¥$/+−–]|[.,:'’-]\d|-\w)"
)
_NOT_DIGIT: Final = re.compile(r"\D")
# One is followed by a singular, and nothing by what only zero has.
_SINGULARS: Final = frozenset({"0", "1"})


class CopiedNumber(NamedTuple):
    """A number's position, and how the target language writes it."""

    start: int
    end: int
    target: str


def numbers_in(text: str, pair: LanguagePair) -> Iterator[CopiedNumber]:
    """Yield whole numbers and times of day; thousands get the target's separator.

    What could mean several things is left out: decimals and versions, dates, ranges, ordinals, and 12-hour times.
    """
    for match in _NUMBER.finditer(text):
        number, target = match.group(), match.group()
        if number in _SINGULARS:
            continue
        if match["groups"] is not None:
            separators = set(_NOT_DIGIT.findall(number))
            if len(separators) > 1 or not separators & _groups(pair.source):
                continue
            group = _group(pair.target)
            if group is None:
                continue
            target = _NOT_DIGIT.sub(group, number)
        yield CopiedNumber(match.start(), match.end(), target)


def _groups(tag: str) -> frozenset[str]:
    """Return the language's separators of thousands."""
    group = _group(tag)
    spaces = " \u00a0\u202f"
    return frozenset(spaces if group is not None and group in spaces else group or "")


@lru_cache(maxsize=CACHED_TAGS)
def _group(tag: str) -> str | None:
    """Return CLDR's separator of thousands; None if it lacks the language."""
    try:
        return get_group_symbol(tag.replace("-", "_"))
    except (UnknownLocaleError, ValueError):
        return None
