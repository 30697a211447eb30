"""Readings: what numbers in digits, times and fractions may mean.

Which separator means what depends on the language, and writers differ: every reading is returned.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from enum import StrEnum
from typing import Final, NamedTuple

Value = int | Decimal | str  # a number longer than an integer can be read fast is kept as its digits
Reading = tuple[Value, ...]  # values that a text must all have: "9:30" has 9 and 30

HALF: Final = Decimal("0.5")
MINUS: Final = "-"  # a sign, or a word such as "below"


class NumberKind(StrEnum):
    """Form of a mention."""

    DIGITS = "digits"
    CLOCK = "clock"  # a time of day
    WORDS = "words"  # spelled out
    ORDINAL = "ordinal"  # spelled out: "third"
    HINT = "hint"  # may mean a number, but need not: "pair", "May", 一


class NumberMention(NamedTuple):
    """A number in a text; ``plain`` lacks the scale: "5" million."""

    start: int
    end: int
    kind: NumberKind
    readings: tuple[Reading, ...]
    plain: Reading | None = None

    @property
    def is_demanded(self) -> bool:
        """Whether the other text must have this number."""
        return self.kind is not NumberKind.HINT


def values_of(mentions: Iterable[NumberMention]) -> set[Value]:
    """Return all values of all readings."""
    return {value for mention in mentions for reading in mention.readings for value in reading}


# Hours and minutes with a letter between: 9 h 30, 9 Uhr 30, 9時30分.
CLOCK: Final = r"(?P<hours>\d{1,2}) ?(?:[hH]|[Uu]hr|時|时|点|點|시) ?(?P<minutes>[0-5]?\d)(?!\d)"
_HOUR: Final = re.compile(
    r"[ \u00a0\u202f]?(?:[Uu]hr(?![^\W\d_])|[oO]['’ ]?[cC]lock|[aApP]\.? ?[mM]\b\.?|[hH](?![^\W\d_])|[hH]eures?\b"
    r"|[hH]oras?\b|[hH]rs?\b|hours\b|時(?!間)|时(?!间)|点|點|시(?!간))"
)
_HALF_BEFORE: Final = re.compile(r"(?<!\w)[Hh]alb[ \u00a0]$")
_MIDNIGHT: Final = 24  # nobody needs to say zero
MINUTES: Final = 60  # spelled minutes may be before the hour, which is a negative reading
# Digits of a group, and the least of a telephone number, which each language may cut elsewhere.
_THOUSAND: Final = 3
MIN_JOINED: Final = 7
MAX_INTEGER_DIGITS: Final = 18  # longer ones are compared as text: reading a long integer is slow
MAX_GROUPS: Final = 8  # more than an address or a telephone number has

# Digits of a date's day, month and year.
_DATE: Final = ((1, 2), (1, 2), (2, 4))
_SIGNS: Final = ".,:：/’'٫٬·‑–—~〜～×-"
_SPACES: Final = " \u00a0\u202f\u2009"
# Digits joined by one sign, or by a space before three digits.
RUN: Final = rf"\d+(?:(?:[{_SIGNS}]|[{_SPACES}](?=\d{{3}}(?!\d)))\d+){{0,{MAX_GROUPS - 1}}}+"
CLOCK_OR_RUN: Final = rf"(?<!\d)(?P<clock>{CLOCK})|(?P<run>{RUN})"
_GROUPS_OF: Final = re.compile(r"(\d+)")
_DECADE_BEFORE: Final = re.compile(r"(?:années|años|années de|the|les|los|['’])[ \u00a0]?$", re.IGNORECASE)
DECADE: Final = re.compile(r"['’]?s\b|er\b|年代|년대|-?[eE]r\b|['’]er\b")
_IN_WORD: Final = re.compile(r"(?<=[A-Za-z]\d)[A-Za-z]|rd[- ]part")  # P2P, 3rd-party
# Not of a range or a list.
_MINUS_BEFORE: Final = re.compile(r"(?:^|[\s(])[-−]$")
_GROUPING: Final = f".,'’٬{_SPACES}"
_DECIMAL_SIGNS: Final = ".,٫·"


def is_hour(text: str, hour: int, end: int) -> bool:
    """Return whether a number ending here is an hour."""
    return hour <= _MIDNIGHT and _HOUR.match(text, end) is not None


def is_half_hour(text: str, hour: int, start: int) -> bool:
    """Recognise the German "halb zwölf": half past eleven."""
    return hour <= _MIDNIGHT and _HALF_BEFORE.search(text[max(0, start - 6) : start]) is not None


def hours_of(hour: int) -> tuple[int, ...]:
    """Return an hour in both halves of the day."""
    hour = hour or _MIDNIGHT
    return (hour, hour - 12 if hour > 12 else hour + 12)


def half_before(hour: int) -> tuple[Reading, ...]:
    """Return the readings of half an hour before an hour."""
    return tuple((before, minutes) for before in hours_of((hour - 1) % 24) for minutes in (30, HALF))


def clock_readings(hours: int, minutes: int) -> tuple[Reading, ...]:
    """Return a time's readings; minutes before the next hour are negative."""
    if minutes == 0:
        return tuple((hour,) for hour in hours_of(hours))
    after = tuple((hour, minutes) for hour in hours_of(hours))
    return (*after, *((f"<{hour}", minutes - MINUTES) for hour in hours_of((hours + 1) % 24)))


def spoken_readings(value: int) -> tuple[Reading, ...]:
    """Return a spelled number's readings as minutes or hour before."""
    if value >= MINUTES:
        return ()
    return ((-value,), (f"<{value}",)) if value <= _MIDNIGHT else ((-value,),)


def read_run(text: str, match: re.Match[str]) -> NumberMention:
    """Return the number that ``CLOCK_OR_RUN`` matched."""
    start, end = match.span()
    if match["clock"] is not None:
        return NumberMention(start, end, NumberKind.CLOCK, clock_readings(int(match["hours"]), int(match["minutes"])))
    parts = _GROUPS_OF.split(match["run"])
    groups, signs = parts[1::2], parts[2:-1:2]
    if len(groups) == 1:
        kind, readings = _read_single(text, start, end, groups[0])
    else:
        kind, readings = _read_groups(groups, signs)
    if kind is NumberKind.DIGITS and _MINUS_BEFORE.search(text[max(0, start - 2) : start]):
        return NumberMention(start - 1, end, kind, tuple((*reading, MINUS) for reading in readings))
    return NumberMention(start, end, kind, readings)


def _read_groups(groups: Sequence[str], signs: Sequence[str]) -> tuple[NumberKind, tuple[Reading, ...]]:
    readings: list[Reading] = []
    kind = NumberKind.DIGITS
    hours, minutes = groups[:2]
    may_be_clock = len(groups) <= 3 and signs[0] in ":：.," and len(hours) <= 2 and len(minutes) == 2
    if may_be_clock and int(hours) <= _MIDNIGHT and int(minutes) < MINUTES:
        kind = NumberKind.CLOCK if signs[0] in ":：" else kind
        readings += clock_readings(int(hours), int(minutes))
    readings += _separated(groups, signs)
    return kind, tuple(dict.fromkeys(readings))


def _separated(groups: Sequence[str], signs: Sequence[str]) -> Iterator[Reading]:
    last = signs[-1]
    if last in _DECIMAL_SIGNS and last not in signs[:-1]:
        whole = "".join(groups[:-1])
        if len(whole) + len(groups[-1]) <= MAX_INTEGER_DIGITS:
            yield (Decimal(f"{int(whole)}.{_plain(groups[-1])}"),)
            if _plain(groups[-1]) == "5":
                yield (int(whole), HALF)
    if last == "/" and len(groups) == 2 and len(groups[1]) <= 3 and int(groups[1]):
        yield (Decimal(value_of(groups[0])) / int(groups[1]),)
    digits = "".join(groups)
    is_grouped = len(set(signs)) == 1 and last in _GROUPING and all(len(group) == _THOUSAND for group in groups[1:])
    if _is_version(groups, signs) and not is_grouped:
        yield (".".join(groups),)
    elif not is_grouped:
        yield tuple(map(value_of, groups))
    if is_grouped or len(digits) >= MIN_JOINED:
        yield (value_of(digits),)


def _is_version(groups: Sequence[str], signs: Sequence[str]) -> bool:
    """Return whether parts with points belong together: 4.2.1, not 14.3.25."""
    if len(groups) < len(_DATE) or set(signs) != {"."}:
        return False
    return len(groups) > len(_DATE) or not any(
        all(len(group) in sizes for group, sizes in zip(groups, date, strict=True)) for date in (_DATE, _DATE[::-1])
    )


def _read_single(text: str, start: int, end: int, group: str) -> tuple[NumberKind, tuple[Reading, ...]]:
    value = value_of(group)
    if not isinstance(value, int):
        return NumberKind.DIGITS, ((value,),)
    if is_half_hour(text, value, start):
        return NumberKind.CLOCK, half_before(value)
    if is_hour(text, value, end):
        return NumberKind.CLOCK, tuple((hour,) for hour in hours_of(value))
    if _IN_WORD.match(text, end):
        return NumberKind.HINT, ((value,),)
    readings: list[Reading] = [(value,)]
    is_year = len(group) == 4 and 1000 <= value < 2100
    if (len(group) == 2 or is_year) and (
        DECADE.match(text, end) or _DECADE_BEFORE.search(text[max(0, start - 12) : start])
    ):
        decades: list[Reading] = [(1900 + value,), (2000 + value,), (1800 + value,)]
        readings += [(value % 100,), (value // 100 + 1, value % 100)] if is_year else decades
    return NumberKind.DIGITS, tuple(readings)


def value_of(digits: str) -> Value:
    """Return an integer, or many digits as plain text."""
    if len(digits) > MAX_INTEGER_DIGITS:
        digits = _plain(digits).lstrip("0") or "0"
    return int(digits) if len(digits) <= MAX_INTEGER_DIGITS else digits


def _plain(digits: str) -> str:
    return digits if digits.isascii() else "".join(str(unicodedata.digit(char)) for char in digits)


# A sign of one character, as numerator and denominator.
_FRACTIONS: Final = {
    char: tuple(map(int, unicodedata.normalize("NFKC", char).split("\u2044"))) for char in "¼½¾⅐⅑⅒⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"
}
VULGAR_FRACTION: Final = f"[{''.join(_FRACTIONS)}]"


def read_fraction(sign: str) -> tuple[Reading, ...]:
    """Return the readings of a sign such as ½."""
    numerator, denominator = _FRACTIONS[sign]
    readings: tuple[Reading, ...] = ((Decimal(numerator) / denominator,), (numerator, denominator))
    return (*readings, (30,), (50,)) if sign == "½" else readings
