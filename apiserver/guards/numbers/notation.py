"""Notation: numbers left as the source writes them; telephone numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from apiserver.guards.numbers.vocabulary import lexicon_of, unit_words
from apiserver.protection.number_conventions import conventions_of, convert_number, value_in
from shared.languages import LanguagePair, language_of

_SEPARATED: Final = re.compile(r"(?<![\w.,:/-])\d+(?:[.,]\d+)+(?![\w:/]|[.,-]\d)")
# Python 3.11 and version 2.5 keep their point.
_VERSION_BEFORE: Final = re.compile(r"(?:[A-Z]\w{0,30}|version|release|v)[ \u00a0]$")
_MOST_BEFORE: Final = 40
# With a comma or more hours than these, no chapter or time.
_MOST_HOURS: Final = 24
_BRACKETS: Final = ("(", "[")  # of coordinates and code
_WORD_BEHIND: Final = re.compile(r"[ \u00a0\u202f-]([^\W\d_]+)")  # the unit of "2.5 litres" and "2.5-litre"

# Of a number with its country (ITU-T E.164).
MAX_DIGITS: Final = 15
MIN_DIGITS: Final = 7
_BETWEEN: Final = re.compile(r"[ \u00a0\u202f./()‑–-]{0,3}")
# They begin with a plus or zero, or have the groups of North America.
_PHONE: Final = re.compile(
    r"(?<![\w.,:/-])(?<!\d[ \u00a0\u202f])(?:(?:\+|\(?0(?![.,:]))(?:[ \u00a0\u202f./()‑–-]{0,2}\d){5,15}"
    r"|(?:\(\d{3}\) ?|\d{3}[-. ])\d{3}[-. ]\d{4}|\d{3}(?: \d|[-.]0)\d{3})(?![\w:]|[.,]\d)",
    re.ASCII,
)
_DATE: Final = re.compile(r"(?<!\d)\d{1,2}[./-]\d{1,2}[./-](?:\d{4}|\d\d)(?!\d)")
_WIDE: Final = str.maketrans("０１２３４５６７８９－ー—（）＋", "0123456789---()+")
_NO_DIGIT: Final = re.compile(r"\D")
_GROUP: Final = re.compile(r"\d+", re.ASCII)
_MORE: Final = re.compile(r"[‑-]\d", re.ASCII)


def kept_notation(source: str, translation: str, pair: LanguagePair) -> Iterator[tuple[int, int]]:
    """Yield the places of numbers copied in foreign notation.

    Those that mean another number in the target, and amounts, unless its own notation is there too.
    """
    copies: set[str] = set(_SEPARATED.findall(translation))
    for match in _SEPARATED.finditer(source) if copies else ():
        number = match.group()
        own = convert_number(number, pair)
        if own == number or number not in copies or own in copies:
            continue
        has_one_point = number.count(".") == 1 and "," not in number
        if has_one_point and is_version(source, match.start(), pair.source):
            continue
        if value_in(number, pair.target) is not None or _is_amount(source, match, pair.source):
            yield match.span()


def is_version(text: str, start: int, tag: str) -> bool:
    """Return whether a number behind a program's name has a version's point."""
    conventions = conventions_of(tag)
    is_point = conventions is None or conventions.decimal == "."
    return is_point and _VERSION_BEFORE.search(text[max(0, start - _MOST_BEFORE) : start]) is not None


def _is_amount(source: str, number: re.Match[str], tag: str) -> bool:
    if source[number.start() - 1 : number.start()] in _BRACKETS:
        return False
    whole, point, _ = number.group().partition(".")
    if not point or "," in whole or int(whole) > _MOST_HOURS:
        return True
    behind, lexicon = _WORD_BEHIND.match(source, number.end()), lexicon_of(language_of(tag))
    word = "" if behind is None else behind[1].lower()
    return word in unit_words(tag) or (lexicon is not None and word in lexicon.amounts)


def phones_in(text: str) -> Iterator[tuple[int, int]]:
    """Yield the places of telephone numbers."""
    for match in _PHONE.finditer(text.translate(_WIDE)):
        if MIN_DIGITS <= len(digits_of(match.group())) <= MAX_DIGITS and _DATE.search(match.group()) is None:
            yield match.span()


def digits_of(phone: str) -> str:
    """Return a telephone number's digits."""
    return _NO_DIGIT.sub("", phone.translate(_WIDE))


def find_phones(phones: Iterable[str], text: str) -> list[tuple[int, int] | None]:
    """Return where a text has exactly the digits of each number."""
    text = text.translate(_WIDE)
    groups = list(_GROUP.finditer(text))
    return [
        next(_places(digits_of(phone), text, groups, has_plus=phone.startswith(("+", "＋"))), None) for phone in phones
    ]


def _places(digits: str, text: str, groups: Sequence[re.Match[str]], *, has_plus: bool) -> Iterator[tuple[int, int]]:
    for index, group in enumerate(groups):
        if not digits.startswith(group.group()):
            continue
        before = text[max(0, group.start() - 2) : group.start()]
        start = group.start() - (2 if before == "+(" else before.endswith(("+", "(")))
        end = _end(digits, text, groups[index : index + MAX_DIGITS])
        if end is not None and (not has_plus or text[start] == "+"):
            yield start, end


def _end(digits: str, text: str, groups: Sequence[re.Match[str]]) -> int | None:
    found, end = "", groups[0].start()
    for group in groups:
        if _BETWEEN.fullmatch(text, end, group.start()) is None:
            return None
        found, end = found + group.group(), group.end()
        if found == digits:
            return None if _MORE.match(text, end) else end
        if not digits.startswith(found):
            return None
    return None
