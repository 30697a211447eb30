"""East Asian reader: numbers of Chinese, Japanese and Korean."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from math import prod
from typing import Final, NamedTuple

from apiserver.guards.numbers.readings import (
    CLOCK_OR_RUN,
    DECADE,
    VULGAR_FRACTION,
    NumberKind,
    NumberMention,
    Reading,
    hours_of,
    is_hour,
    read_fraction,
    read_run,
    spoken_readings,
)
from apiserver.guards.numbers.vocabulary import EAST_ASIAN, EastAsianWords, read_words
from apiserver.protection.number_conventions import CACHED_TAGS

_MYRIAD: Final = 10**4
MAX_NUMERALS: Final = 24  # no number has more; 10,000 to the power of a hostile text would be slow
# 2、3日 is a few days.
_FEW: Final = rf"(?<!\d)(?:{'|'.join(f'[{n}{n + 0xFF10:c}][、，,][{n + 1}{n + 0xFF11:c}]' for n in range(2, 9))})(?!\d)"
# 千米 is a kilometre.
_KILOMETRE: Final = "千[米克瓦卡赫]"
_NO_HANGUL: Final = "(?<![가-힣])"
_NOTHING: Final = "(?!)"


@dataclass(frozen=True, slots=True)
class Numerals:
    """A language's numerals.

    ``token`` finds digits, numerals, native numbers and hints. Numerals are demanded only if ``counters`` matches behind
    them, and ``other_before`` and ``other_words`` do not match.
    """

    units: Mapping[str, int]
    scales: Mapping[str, int]
    native: Mapping[str, int]
    hints: Mapping[str, tuple[Reading, ...]]
    token: re.Pattern[str]
    counters: re.Pattern[str]
    native_counters: re.Pattern[str]
    other_before: re.Pattern[str]
    other_words: re.Pattern[str]
    least: int


@lru_cache(maxsize=CACHED_TAGS)
def numerals_of(language: str) -> Numerals | None:
    """Return the numerals of Chinese, Japanese or Korean; None of others."""
    if language not in EAST_ASIAN:
        return None
    words = read_words(language, EastAsianWords)
    tens, units = words.native_tens, words.native_units
    both = {ten + gap + unit: tens[ten] + units[unit] for gap in ("", " ") for ten in tens for unit in units}
    native = {**both, **tens, **units}
    counters = "|".join(filter(None, (words.native_counters, words.counters)))
    characters, hint = "".join((*words.units, *words.scales)), f"(?P<hint>{_one_of(words.hints)})"
    found = (
        rf"{_NO_HANGUL}{hint}|{_NO_HANGUL}(?P<native>{_one_of(native)})|(?:{_NO_HANGUL}|(?<=\d))(?P<numerals>[{characters}]+)"
        if native
        else rf"{hint}|(?P<numerals>(?:(?!{_KILOMETRE})[{characters}])+)"
    )
    return Numerals(
        words.units,
        words.scales,
        native,
        words.hints,
        re.compile(rf"(?P<few>{_FEW})|{CLOCK_OR_RUN}|(?P<vulgar>{VULGAR_FRACTION})|{found}"),
        re.compile(rf"\s?(?:{counters})" if native else counters),
        re.compile(rf"\s?(?:{words.native_counters})"),
        re.compile(rf"(?:{words.other_before})$" if words.other_before else _NOTHING),
        re.compile(words.other_words or _NOTHING),
        words.least,
    )


def _one_of(words: Mapping[str, object]) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


class _Part(NamedTuple):
    start: int
    end: int
    kind: NumberKind
    readings: tuple[Reading, ...]
    numerals: str = ""


def may_have_numerals(text: str, numerals: Numerals) -> bool:
    """Return whether a text has more numerals than hints."""
    return any(match["hint"] is None for match in numerals.token.finditer(text))


def read_east_asian(text: str, numerals: Numerals) -> Iterator[NumberMention]:
    """Yield a text's numbers in order."""
    parts = list(_parts(text, numerals))
    index = 0
    while index < len(parts):
        part = parts[index]
        index += 1
        if part.kind is not NumberKind.DIGITS and not part.numerals:
            yield NumberMention(part.start, part.end, part.kind, part.readings)
            continue
        chain = [part]
        while index < len(parts) and _continues(text, chain[-1], parts[index], numerals):
            chain.append(parts[index])
            index += 1
        yield _chained(text, chain, numerals)


def _parts(text: str, numerals: Numerals) -> Iterator[_Part]:
    for match in numerals.token.finditer(text):
        start, end = match.span()
        if match["few"] is not None:
            yield _Part(start, end, NumberKind.HINT, ((int(text[start]),), (int(text[end - 1]),)))
        elif match["clock"] is not None or match["run"] is not None:
            run = read_run(text, match)
            yield _Part(start, end, run.kind, run.readings)
        elif match["vulgar"] is not None:
            yield _Part(start, end, NumberKind.CLOCK, read_fraction(match.group()))
        elif match["numerals"] is not None:
            yield _Part(start, end, NumberKind.WORDS, (), match.group())
        elif match["hint"] is not None:
            yield _Part(start, end, NumberKind.HINT, numerals.hints[match.group()])
        else:
            yield _native(text, match, numerals)


def _native(text: str, match: re.Match[str], numerals: Numerals) -> _Part:
    word, (start, end) = match.group(), match.span()
    value = numerals.native[word]
    is_long = len(word) > 1 or text[end : end + 1].isspace()  # 세 and 네 begin many words
    is_number = value >= numerals.least and is_long and numerals.native_counters.match(text, end) is not None
    readings = tuple((hour,) for hour in hours_of(value)) if is_hour(text, value, end) else ((value,),)
    kind = NumberKind.WORDS if is_number else NumberKind.HINT
    return _Part(start, end, kind, (*readings, *spoken_readings(value)))


def _continues(text: str, last: _Part, part: _Part, numerals: Numerals) -> bool:
    """Return whether digits and scales are one number: 12万5千, 12만 5천."""
    gap = text[last.end : part.start]
    if last.numerals:
        is_digits = not part.numerals and part.kind is NumberKind.DIGITS
        return is_digits and gap in {"", " "} and last.numerals[-1] in numerals.scales
    return gap == "" and bool(part.numerals) and part.numerals[0] in numerals.scales


def _chained(text: str, chain: Sequence[_Part], numerals: Numerals) -> NumberMention:
    start, end = chain[0].start, chain[-1].end
    if len(chain) == 1 and not chain[0].numerals:
        return NumberMention(start, end, chain[0].kind, chain[0].readings)
    if sum(len(part.numerals) or 1 for part in chain) > MAX_NUMERALS:
        return NumberMention(start, end, NumberKind.HINT, ())
    if len(chain) == 1 and (few := _few(chain[0].numerals, numerals)):
        return NumberMention(start, end, NumberKind.HINT, (few,))
    readings = tuple(_values(chain, numerals))
    if any(not part.numerals for part in chain):
        plain = chain[0].readings[0] if chain[0].readings else None
        return NumberMention(start, end, NumberKind.DIGITS, readings, plain)
    value = readings[0][0]
    if isinstance(value, int):
        hours = tuple((hour,) for hour in hours_of(value)) if is_hour(text, value, end) else ()
        decade = ((1900 + value,),) if value < 100 and DECADE.match(text, end) else ()
        readings = (*hours, *readings, *decade, *spoken_readings(value))
    written = chain[0].numerals
    # One syllable of Hangul may be any word.
    is_spelled = not numerals.native or (len(written) > 1 and any(char in numerals.scales for char in written))
    is_number = (
        is_spelled
        and not isinstance(value, str)
        and value >= numerals.least
        and numerals.counters.match(text, end) is not None
        and numerals.other_before.search(text[max(0, start - 4) : start]) is None
        and numerals.other_words.match(text, start) is None
    )
    return NumberMention(start, end, NumberKind.WORDS if is_number else NumberKind.HINT, readings)


def _few(text: str, numerals: Numerals) -> Reading:
    """Return both numbers of an approximation: 20 and 30 of 二三十."""
    if len(text) < 2 or any(char in numerals.units for char in text[2:]):
        return ()
    low, high = numerals.units.get(text[0], 0), numerals.units.get(text[1], 0)
    scale = prod(numerals.scales[char] for char in text[2:])
    return (low * scale, high * scale) if low and high == low + 1 else ()


def _values(chain: Sequence[_Part], numerals: Numerals) -> Iterator[Reading]:
    if len(chain) == 1 and all(char in numerals.units for char in chain[0].numerals):
        units = [numerals.units[char] for char in chain[0].numerals]
        if len(units) <= 18:
            yield (int("".join(map(str, units))),)
        yield tuple(units)
        return
    total: int | Decimal = 0
    section: int | Decimal = 0
    number: int | Decimal | None = None
    last_scale = 1
    for item in _items(chain, numerals):
        if isinstance(item, Decimal) or item >= 0:
            number = item if number is None else number * 10 + item
            continue
        last_scale = -item
        if last_scale < _MYRIAD:
            section += (1 if number is None else number) * last_scale
        elif not section and number is None and total:
            total *= last_scale  # 万亿
        else:
            section += number or 0
            total += (section or 1) * last_scale
            section = 0
        number = None
    yield (total + section + (number or 0),)
    if number is not None and last_scale >= 100 and number < 10:
        yield (total + section + number * (last_scale // 10),)  # 三百五 is 350
        yield (total + section, number)


def _items(chain: Sequence[_Part], numerals: Numerals) -> Iterator[int | Decimal]:
    """Yield numbers, and scales as negative ones."""
    for part in chain:
        for char in part.numerals:
            if char in numerals.units:
                yield numerals.units[char]
            else:
                yield -numerals.scales[char]
        if not part.numerals:
            values = (reading[0] for reading in part.readings if len(reading) == 1)
            yield next((value for value in values if not isinstance(value, str)), 0)
