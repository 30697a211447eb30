"""CLDR's names of months, and its form of numbers, from Babel."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache
from typing import Final

from babel import Locale, UnknownLocaleError
from babel.numbers import format_decimal, get_decimal_symbol

# A catalog serves a few dozen languages.
CACHED_TAGS: Final = 512


@lru_cache(maxsize=CACHED_TAGS)
def locale_of(tag: str) -> Locale | None:
    """Return the locale of a language tag; None if CLDR lacks it."""
    try:
        return Locale.parse(tag, sep="-")
    except (UnknownLocaleError, ValueError):
        return None


def month_names(tag: str) -> Iterator[tuple[str, int]]:
    """Yield months' names, short ones without full stop, and numbers."""
    locale = locale_of(tag)
    if locale is None:
        return
    for context in ("format", "stand-alone"):
        for width in ("wide", "abbreviated"):
            for number, name in locale.months[context][width].items():
                yield name.rstrip("."), number


def decimal_sign(tag: str) -> str | None:
    """Return a language's decimal sign; None if CLDR lacks the language."""
    locale = locale_of(tag)
    return None if locale is None else get_decimal_symbol(locale)


def format_number(value: int | Decimal, tag: str) -> str:
    """Return a number as a language writes it.

    Plain digits if CLDR lacks the language.
    """
    locale = locale_of(tag)
    return f"{Decimal(value):f}" if locale is None else format_decimal(value, locale=locale, decimal_quantization=False)
