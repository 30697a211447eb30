"""Number conventions: writes numbers as the target language does.

Signs and groups are CLDR's, through Babel; a language that it lacks changes nothing.
"""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache
from typing import Final, NamedTuple

from babel import Locale, UnknownLocaleError
from babel.numbers import format_decimal, get_decimal_symbol, get_group_symbol

from apiserver.protection.placeholder_encoding import LETTER
from shared.languages import LanguagePair

# A catalog serves a few dozen languages.
CACHED_TAGS: Final = 512
# Signs that mean the same to readers.
_SPACES: Final = " \u00a0\u202f\u2009"
_APOSTROPHES: Final = "'’"
_RUN: Final = re.compile(rf"\d+(?:[.,{_APOSTROPHES}]\d+|[{_SPACES}]\d{{3}}(?!\d))*")
# Characters of a file name or another code that an amount touches.
_MOST_TOUCHING: Final = 64
_CODE_BEFORE: Final = re.compile(rf"(?:{LETTER}|\d[.,]|[./\\#@&?_=:-])$")
_CODE_BEHIND: Final = re.compile(rf"[.,]\d|[^\s.=@_\\]{{0,{_MOST_TOUCHING}}}[.=@_\\]{LETTER}")
# Style sheets have a point in every language.
_STYLE: Final = re.compile(r"\d(?:px|pt)$")


class Conventions(NamedTuple):
    """A language's numbers in digits; ``groups`` are the signs between thousands."""

    decimal: str
    groups: str
    pattern: re.Pattern[str]


@lru_cache(maxsize=CACHED_TAGS)
def locale_of(tag: str) -> Locale | None:
    """Return the locale of a language tag; None if CLDR lacks it."""
    try:
        return Locale.parse(tag, sep="-")
    except (UnknownLocaleError, ValueError):
        return None


@lru_cache(maxsize=CACHED_TAGS)
def conventions_of(tag: str) -> Conventions | None:
    """Return a language's conventions; None if CLDR lacks it."""
    locale = locale_of(tag)
    if locale is None:
        return None
    decimal, group = get_decimal_symbol(locale), get_group_symbol(locale)
    groups = next((signs for signs in (_SPACES, _APOSTROPHES) if group in signs), group)
    any_group = f"[{re.escape(groups)}{_SPACES}]"
    pattern = re.compile(
        rf"(?P<whole>[1-9]\d{{0,2}}(?P<sign>{any_group})\d{{3}}(?:(?P=sign)\d{{3}}){{0,4}}|\d{{1,15}})"
        rf"(?:{re.escape(decimal)}(?P<fraction>\d+))?",
        re.ASCII,
    )
    return Conventions(decimal, groups, pattern)


def format_number(value: int | Decimal, tag: str) -> str:
    """Return a number as a language writes it.

    Plain digits if CLDR lacks the language.
    """
    locale = locale_of(tag)
    return f"{Decimal(value):f}" if locale is None else format_decimal(value, locale=locale, decimal_quantization=False)


def value_in(number: str, tag: str) -> Decimal | None:
    """Return the value for readers of a language; None in other notations."""
    conventions = conventions_of(tag)
    match = None if conventions is None else conventions.pattern.fullmatch(number)
    return None if match is None else Decimal(f"{_digits(match)}.{match['fraction'] or 0}")


def convert_number(number: str, pair: LanguagePair) -> str:
    """Return digits in the target's notation, with the same decimals.

    They stay as they are if that is not the source's notation.
    """
    source, target = conventions_of(pair.source), conventions_of(pair.target)
    if source is None or target is None or (match := source.pattern.fullmatch(number)) is None:
        return number
    # Thousands with spaces are understood everywhere; only where they are usual, they are surely meant.
    is_regrouped = match["sign"] is not None and match["sign"] in source.groups
    whole = format_number(_digits(match), pair.target) if is_regrouped else match["whole"]
    return whole if match["fraction"] is None else f"{whole}{target.decimal}{match['fraction']}"


def convert_amount(text: str, start: int, end: int, pair: LanguagePair) -> str:
    """Return amounts of a text with the target's numbers.

    They stay as they are inside a file name, an address, a style or another code.
    """
    amount = text[start:end]
    if (
        _CODE_BEFORE.search(text[max(0, start - 2) : start])
        or _CODE_BEHIND.match(text, end)
        or _STYLE.search(amount) is not None
    ):
        return amount
    return _RUN.sub(lambda match: convert_number(match.group(), pair), amount)


def _digits(match: re.Match[str]) -> int:
    return int(match["whole"].replace(match["sign"] or " ", ""))
