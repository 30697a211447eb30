"""Notation: numbers that a translation left as the source writes them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from apiserver.guards.numbers.words.cldr import unit_words
from apiserver.protection.number_conventions import conventions_of, convert_number, value_in
from shared.languages import LanguagePair

_SEPARATED: Final = re.compile(r"(?<![\w.,:/-])\d+(?:[.,]\d+)+(?![\w:/]|[.,-]\d)")
# Python 3.11 and version 2.5 keep their point.
_VERSION_BEFORE: Final = re.compile(r"(?:[A-Z]\w{0,30}|version|release|v)[ \u00a0]$")
_MOST_BEFORE: Final = 40
# With a comma or more hours than these, no chapter or time.
_MOST_HOURS: Final = 24
# Of coordinates and code.
_BRACKETS: Final = ("(", "[")
# Behind these a point is a decimal sign too.
_AMOUNT: Final = re.compile(
    r"[ \u00a0\u202f-]?(?:d[e'’] ?)?(?:euros?|dollars?|d[óo]lar(?:es)?|pounds?|pfund|livres?|libras?|francs?|franken|francos?"
    r"|cents?|centimes?|c[ée]ntimos?|per ?cent|prozent|pour ?cent|por ?ciento"
    r"|million(?:s|en)?|mill[oó]n(?:es)?|billion(?:s|en)?|milliards?|milliarden?|mil|thousand|tausend|mille"
    r"|(?:kilo|milli|centi|zenti|cent[ií]|mil[ií]|kil[óo])?m[eéè]t(?:er|re|ro)s?n?|miles?|meilen?|millas?|milles?"
    r"|(?:milli|mil[ií])?lit(?:er|re|ro)s?n?|kilos?|(?:kilo|milli)?gram(?:m|s|o|os|me|mes)?n?|tons?|tonnes?|tonnen?|toneladas?"
    r"|degrees?|grad|degr[ée]s?|grados?|hours?|stunden?|heures?|horas?|minutes?|minuten?|minutos?"
    r"|(?:mega|giga|tera)?(?:bytes?|watts?))(?![^\W\d_])",
    re.IGNORECASE,
)

_WORD_BEHIND: Final = re.compile(r"[ \u00a0\u202f-]([^\W\d_]+)")


class _Number(NamedTuple):
    start: int
    end: int
    text: str


def kept_notation(source: str, translation: str, pair: LanguagePair) -> Iterator[tuple[int, int]]:
    """Yield the places of numbers that the translation copied in foreign notation.

    Those that mean another number in the target, and amounts; without those that it has in its own notation too.
    """
    copies = {number.text for number in _separated(translation)}
    if not copies:
        return
    for number in _separated(source):
        own = convert_number(number.text, pair)
        if own == number.text or number.text not in copies or own in copies or _is_version(source, number, pair):
            continue
        is_misread = value_in(number.text, pair.target) is not None
        if is_misread or _is_amount(source, number, pair.source):
            yield number.start, number.end


def is_version(text: str, start: int, tag: str) -> bool:
    """Return whether the number after a program's name has a version's point."""
    conventions = conventions_of(tag)
    is_point = conventions is None or conventions.decimal == "."
    return is_point and _VERSION_BEFORE.search(text[max(0, start - _MOST_BEFORE) : start]) is not None


def _is_amount(source: str, number: _Number, tag: str) -> bool:
    if source[number.start - 1 : number.start] in _BRACKETS:
        return False
    whole, point, _ = number.text.partition(".")
    if not point or "," in whole or int(whole) > _MOST_HOURS or _AMOUNT.match(source, number.end) is not None:
        return True
    word = _WORD_BEHIND.match(source, number.end)
    return word is not None and word[1].lower() in unit_words(tag)


def _is_version(source: str, number: _Number, pair: LanguagePair) -> bool:
    return number.text.count(".") == 1 and "," not in number.text and is_version(source, number.start, pair.source)


def _separated(text: str) -> Iterator[_Number]:
    return (_Number(*match.span(), match.group()) for match in _SEPARATED.finditer(text))
