"""CLDR's names of months and units, from Babel."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final, cast

from apiserver.protection.number_conventions import CACHED_TAGS, locale_of

_UnitNames = Mapping[str, Mapping[str, str | None]]
_FIRST_WORD: Final = re.compile(r"[^\W\d_]{3,}")


def month_names(tag: str) -> Iterator[tuple[str, int]]:
    """Yield months' names, short ones without full stop, and numbers."""
    locale = locale_of(tag)
    if locale is None:
        return
    for context in ("format", "stand-alone"):
        for width in ("wide", "abbreviated"):
            for number, name in locale.months[context][width].items():
                yield name.rstrip("."), number


@lru_cache(maxsize=CACHED_TAGS)
def unit_words(tag: str) -> frozenset[str]:
    """Return the first words of units' names, such as seconds."""
    locale = locale_of(tag)
    if locale is None:
        return frozenset()
    names = (names.get("long") or "" for names in cast("_UnitNames", locale.unit_display_names).values())
    return frozenset(match.group().lower() for name in names if (match := _FIRST_WORD.match(name)) is not None)
