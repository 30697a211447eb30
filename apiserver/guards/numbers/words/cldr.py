"""CLDR's names of months, from Babel."""

from __future__ import annotations

from collections.abc import Iterator

from apiserver.protection.number_conventions import locale_of


def month_names(tag: str) -> Iterator[tuple[str, int]]:
    """Yield months' names, short ones without full stop, and numbers."""
    locale = locale_of(tag)
    if locale is None:
        return
    for context in ("format", "stand-alone"):
        for width in ("wide", "abbreviated"):
            for number, name in locale.months[context][width].items():
                yield name.rstrip("."), number
