"""Foreign months: months beside a day, in any language of CLDR."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from apiserver.guards.numbers.dates_and_times import months_of
from apiserver.protection.number_conventions import CACHED_TAGS
from shared.languages import LanguagePair

# Shorter names are words of many languages: mar, mai.
_LEAST_LETTERS: Final = 4
_DAY: Final = r"\d{1,2}(?:st|nd|rd|th|er|º)?"
_WORD: Final = re.compile(r"[^\W\d_]+")


def kept_months(source: str, translation: str, pair: LanguagePair) -> Iterator[str]:
    """Yield months of dates that were copied, not translated."""
    pattern = _dates(pair.source)
    if pattern is None:
        return
    words: set[str] = set(_WORD.findall(translation))
    for match in pattern.finditer(source):
        month = match["behind"] or match["before"]
        if month in words and month.lower() not in months_of(pair.target):
            yield month


@lru_cache(maxsize=CACHED_TAGS)
def _dates(tag: str) -> re.Pattern[str] | None:
    names = "|".join(sorted((name for name in months_of(tag) if len(name) >= _LEAST_LETTERS), key=len, reverse=True))
    if not names:
        return None
    return re.compile(
        rf"(?<!\w)(?i:(?P<before>{names})) {_DAY}(?![\w%€$£]|[.,:]\d)"
        rf"|(?<![\w.,:]){_DAY}\.? (?:of |de )?(?i:(?P<behind>{names}))(?!\w)"
    )
