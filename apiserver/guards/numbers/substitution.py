"""Substitution: numbers to copy, as the target language writes them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Final, NamedTuple

from apiserver.guards.numbers.dates_and_times import times_in
from apiserver.guards.numbers.notation import is_version, phones_in
from apiserver.guards.numbers.reader import numbers_in
from apiserver.guards.numbers.readings import NumberKind, NumberMention
from apiserver.protection.number_conventions import convert_number, format_number
from apiserver.protection.placeholder_encoding import LETTER
from shared.languages import LanguagePair, language_of

_VERBATIM: Final = re.compile(r"(?:[\d.,:/'’–—-]|[ \u00a0\u202f](?=\d{3}))+")
_POINT: Final = re.compile(r"\d+\.\d+")
_MINUS_SIGNS: Final = "-−"
_DASHES: Final = ("-", "–")
_LETTER: Final = re.compile(LETTER)


class Substitute(NamedTuple):
    """A number's position, and how the target language writes it."""

    start: int
    end: int
    target: str


def substitutes(text: str, pair: LanguagePair, values: Collection[str]) -> Iterator[Substitute]:
    """Yield numbers without words that are written as one of ``values``."""
    mentions = numbers_in(text, language_of(pair.source))
    if mentions is None:
        return
    phones = (Substitute(start, end, text[start:end]) for start, end in phones_in(text))
    whole = [each for each in (*phones, *_times(text, pair)) if text[each.start : each.end] in values]
    yield from whole
    for mention in mentions:
        is_apart = all(mention.end <= each.start or each.end <= mention.start for each in whole)
        if is_apart and mention.is_demanded and text[mention.start : mention.end] in values:
            target = _written(text, mention, pair)
            if target is not None:
                yield Substitute(mention.start, mention.end, target)


def _times(text: str, pair: LanguagePair) -> Iterator[Substitute]:
    """Yield times by the 24-hour clock; not the end of 9-11 p.m."""
    for time in times_in(text, language_of(pair.source)):
        if text[time.start - 1 : time.start] not in _DASHES:
            yield Substitute(time.start, time.end, f"{time.hour}:{time.minute:02}")


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
    if mention.plain is None and mention.kind is not NumberKind.WORDS:
        if _VERBATIM.fullmatch(source) is None:
            return None
        is_kept = _POINT.fullmatch(source) is not None and is_version(text, mention.start, pair.source)
        return source if is_kept else convert_number(source, pair)
    value, *others = mention.readings[0]
    if others or isinstance(value, str):
        return None
    # A numeral for each digit is a year: 二〇〇四年.
    return str(value) if len(source) == len(str(value)) else format_number(value, pair.target)
