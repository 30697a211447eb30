"""Substitution: numbers to copy, as the target language writes them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Final, NamedTuple

from apiserver.guards.numbers.mentions import NumberKind, NumberMention
from apiserver.guards.numbers.reader import language_of, read_numbers
from apiserver.guards.numbers.words.cldr import decimal_sign, format_number
from apiserver.protection.placeholder_encoding import LETTER
from shared.languages import LanguagePair

_GROUPED: Final = re.compile(r"\d{1,3}(?:([.,'’ \u00a0\u202f])\d{3})(?:\1\d{3})*")
_VERBATIM: Final = re.compile(r"[\d.,:/'’–—-]+")
_DECIMAL: Final = re.compile(r"(\d+)([.,])(\d+)")
# Python 3.11 and version 2.5 keep their point.
_VERSION_BEFORE: Final = re.compile(r"(?:[A-Z]\w{0,30}|version|release|v)[ \u00a0]$")
_MINUS_SIGNS: Final = "-−"
_LETTER: Final = re.compile(LETTER)


class Substitute(NamedTuple):
    """A number's position, and how the target language writes it."""

    start: int
    end: int
    target: str


def substitutes(text: str, pair: LanguagePair, values: Collection[str]) -> Iterator[Substitute]:
    """Yield the numbers that are written as one of ``values``.

    Without those to which words belong, such as "third" and "9 h 30".
    """
    for mention in read_numbers(text, language_of(pair.source)):
        if mention.is_demanded and text[mention.start : mention.end] in values:
            target = _written(text, mention, pair)
            if target is not None:
                yield Substitute(mention.start, mention.end, target)


def _written(text: str, mention: NumberMention, pair: LanguagePair) -> str | None:
    """Return a number for the target; None if it needs its words."""
    source = text[mention.start : mention.end]
    if source[0] in _MINUS_SIGNS:
        mention = mention._replace(start=mention.start + 1, readings=tuple(each[:-1] for each in mention.readings))
        number = _written(text, mention, pair)
        return None if number is None else source[0] + number
    neighbours = text[max(0, mention.start - 1) : mention.start] + text[mention.end : mention.end + 1]
    if mention.kind is NumberKind.ORDINAL or _LETTER.search(neighbours) is not None:
        return None
    is_grouped = mention.plain is None and _GROUPED.fullmatch(source) is not None
    if not is_grouped and mention.plain is None and mention.kind is not NumberKind.WORDS:
        return _copied(source, text[: mention.start], pair) if _VERBATIM.fullmatch(source) else None
    whole = mention.readings[-1] if is_grouped else mention.readings[0]
    return None if len(whole) != 1 or isinstance(whole[0], str) else format_number(whole[0], pair.target)


def _copied(number: str, before: str, pair: LanguagePair) -> str:
    """Return digits as they are, but with the target's decimal sign."""
    match, sign = _DECIMAL.fullmatch(number), decimal_sign(pair.target)
    if match is None or sign is None or match[2] != decimal_sign(pair.source) or _VERSION_BEFORE.search(before[-40:]):
        return number
    return f"{match[1]}{sign}{match[3]}"
