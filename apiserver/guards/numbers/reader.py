"""Reader: a text's numbers, as its language writes them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise
from typing import Final, NamedTuple

from apiserver.guards.numbers.east_asian_reader import may_have_numerals, numerals_of, read_east_asian
from apiserver.guards.numbers.readings import (
    CLOCK_OR_RUN,
    VULGAR_FRACTION,
    NumberKind,
    NumberMention,
    Reading,
    half_before,
    hours_of,
    is_half_hour,
    is_hour,
    read_fraction,
    read_run,
    spoken_readings,
)
from apiserver.guards.numbers.vocabulary import EAST_ASIAN, SPACED, Entry, Lexicon, Role, lexicon_of, roman_value

# A text with more is a table, and longer ones are more than a segment: neither is read.
MAX_NUMBERS: Final = 128
MAX_CHARS: Final = 10_000
# Groups of digits are counted faster than numbers.
_MAX_GROUPS: Final = 4 * MAX_NUMBERS
_DIGIT: Final = re.compile(r"[\d¼-¾⅐-⅞]")
_GROUP: Final = re.compile(r"\d+|[¼-¾⅐-⅞]")
_WORD: Final = re.compile(r"[^\W\d_]+")
_TOKEN: Final = re.compile(rf"{CLOCK_OR_RUN}|(?P<vulgar>{VULGAR_FRACTION})|(?P<word>[^\W\d_]+)")
_JOINING: Final = frozenset({" ", "-", "‑", "\u00a0", "\u202f", ""})  # between two words of one number
_WINDOW: Final = 6  # more words than any phrase has
# More words than any number has, and a larger scale: their products would be slow.
_MAX_WORDS: Final = 24
_LARGEST_SCALE: Final = 10**24


def knows_words(language: str) -> bool:
    """Return whether a language's spelled numbers are known, not only digits."""
    return language in EAST_ASIAN or language in SPACED


def may_have_numbers(text: str, language: str) -> bool:
    """Return fast whether a text may have a demanded number."""
    if _DIGIT.search(text) is not None:
        return True
    numerals = numerals_of(language)
    if numerals is not None:
        return may_have_numerals(text, numerals)
    lexicon = lexicon_of(language)
    return lexicon is not None and may_have_words(text, lexicon)


def numbers_in(text: str, language: str) -> Sequence[NumberMention] | None:
    """Return a text's numbers in order; None for tables and long texts."""
    if len(text) > MAX_CHARS:
        return None
    if len(text) > _MAX_GROUPS and sum(1 for _ in islice(_GROUP.finditer(text), _MAX_GROUPS + 1)) > _MAX_GROUPS:
        return None
    mentions = list(islice(read_numbers(text, language), MAX_NUMBERS + 1))
    return None if len(mentions) > MAX_NUMBERS else mentions


def read_numbers(text: str, language: str) -> Iterator[NumberMention]:
    """Yield a text's numbers in order; ``language`` without script and region."""
    numerals = numerals_of(language)
    return read_spaced(text, lexicon_of(language)) if numerals is None else read_east_asian(text, numerals)


class _Part(NamedTuple):
    """Digits, a phrase, or a joining word, which has no readings."""

    start: int
    end: int
    readings: tuple[Reading, ...]
    entry: Entry | None = None
    kind: NumberKind = NumberKind.WORDS


@dataclass(slots=True)
class Composition:
    """Composition of units, hundreds and scales so far: "two thousand and one"."""

    total: int = 0
    current: int | None = None
    last_scale: int = 0
    entries: list[Entry] = field(default_factory=list[Entry])
    apart: list[int] = field(default_factory=list[int])

    @property
    def value(self) -> int:
        """The value so far."""
        return self.total + (self.current or 0)

    @property
    def is_weak(self) -> bool:
        """Whether a translation need not have the number."""
        is_large = self.entries[-1].role in {Role.HUNDRED, Role.SCALE}
        return len(self.entries) == 1 and (is_large or self.entries[0].is_weak)

    @property
    def is_ordinal(self) -> bool:
        """Whether the last word is an ordinal."""
        return bool(self.entries) and self.entries[-1].role is Role.ORDINAL

    def readings(self) -> tuple[Reading, ...]:
        """Return the whole value, and where words only stand together, each."""
        if len(self.entries) == 1:
            return self.entries[0].readings
        whole = (self.value,)
        return (whole, tuple(self.apart)) if len(self.apart) > 1 else (whole,)

    def can_join(self, following: Entry) -> bool:
        """Return whether an "and" before this word continues the number."""
        is_large = bool(self.entries) and self.entries[-1].role in {Role.HUNDRED, Role.SCALE}
        return is_large and following.role in {Role.UNIT, Role.ORDINAL} and following.value < 100

    def join(self) -> None:
        """Take an "and": the words around it may also be two numbers."""
        self.apart = [self.value]

    def take(self, entry: Entry) -> bool:
        """Take a word; return False, unchanged, if it begins another number."""
        last = self.entries[-1].role if self.entries else None
        if last is Role.ORDINAL or entry.role is Role.HINT:
            return False
        takers = {Role.HUNDRED: self._take_hundred, Role.SCALE: self._take_scale}
        if is_taken := takers.get(entry.role, self._take_unit)(entry.value, last):
            self.entries.append(entry)
        return is_taken

    def _take_unit(self, value: int, last: Role | None) -> bool:
        if self.apart:
            self.apart.append(value)
        if self.current is None:
            self.current = value
        elif last is Role.HUNDRED and value < 100:
            self.current += value
        elif last is Role.UNIT and len(self.entries) == 1 and 10 <= self.current <= 20 and 10 <= value < 100:
            self.apart = [self.current, value]
            self.current = self.current * 100 + value
        else:
            return False
        return True

    def _take_hundred(self, value: int, last: Role | None) -> bool:
        if self.current is None:
            self.current = value
        elif value == 100 and last is Role.UNIT and self.current < 100:
            self.current *= value
        else:
            return False
        return True

    def _take_scale(self, value: int, last: Role | None) -> bool:
        if self.current is None and not self.total:
            self.total = value
        elif self.current is None:
            if last is not Role.SCALE or value <= self.last_scale:
                return False
            self.total *= value  # mil millones
        elif self.last_scale and value > self.last_scale:
            self.total = (self.total + self.current) * value
        else:
            self.total += self.current * value
        self.current, self.last_scale = None, value
        return True


def may_have_words(text: str, lexicon: Lexicon) -> bool:
    """Return whether a text has a word that is surely a number."""
    lower = text.lower()
    if not lexicon.demanded.isdisjoint(_WORD.findall(lower)):
        return True
    return bool(lexicon.compounds) and ("hundert" in lower or "tausend" in lower)


def read_spaced(text: str, lexicon: Lexicon | None) -> Iterator[NumberMention]:
    """Yield a text's numbers in order; without a lexicon, those in digits."""
    parts = list(_parts(text, lexicon))
    index = 0
    while index < len(parts):
        part = parts[index]
        if not part.readings:
            index += 1
        elif part.entry is None:
            mention, index = _scaled(text, parts, index)
            yield mention
        elif part.entry.role in {Role.HINT, Role.ORDINAL}:
            index += 1
            is_hint = part.entry.role is Role.HINT or part.entry.is_weak
            yield NumberMention(part.start, part.end, NumberKind.HINT if is_hint else NumberKind.ORDINAL, part.readings)
        else:
            mention, index = _composed(text, parts, index)
            yield mention


def _parts(text: str, lexicon: Lexicon | None) -> Iterator[_Part]:
    tokens = list(_TOKEN.finditer(text))
    words = [(match["word"] or "").lower() for match in tokens]
    index = 0
    while index < len(tokens):
        match, count = tokens[index], 1
        if match["vulgar"] is not None:
            yield _Part(*match.span(), read_fraction(match.group()), kind=NumberKind.DIGITS)
        elif match["word"] is None:
            run = read_run(text, match)
            yield _Part(run.start, run.end, run.readings, kind=run.kind)
        elif lexicon is not None and lexicon.may_begin(words[index], match["word"]):
            window = slice(index, index + _WINDOW)
            count, part = _phrase(text, tokens[window], words[window], lexicon)
            if part is not None:
                yield part
        index += count


def _phrase(
    text: str, tokens: Sequence[re.Match[str]], words: Sequence[str], lexicon: Lexicon
) -> tuple[int, _Part | None]:
    """Return the longest phrase's number of tokens, and its part."""
    start = tokens[0].start()
    if words[0] in lexicon.joins:
        return 1, _Part(start, tokens[0].end(), ())
    count = min(lexicon.longest.get(words[0], 0), len(words))
    while count > 0:
        entry = lexicon.phrases.get(" ".join(words[:count]))
        if entry is not None and (not entry.needs_capital or text[start].isupper()):
            gaps = (text[a.end() : b.start()] for a, b in pairwise(tokens[:count]))
            if all(gap in _JOINING for gap in gaps):
                return count, _Part(start, tokens[count - 1].end(), entry.readings, entry)
        count -= 1
    entry = lexicon.compound(words[0]) if lexicon.compounds else None
    if entry is None and (value := roman_value(tokens[0].group())):
        entry = Entry(Role.HINT, 0, ((value,),))
    return 1, None if entry is None else _Part(start, tokens[0].end(), entry.readings, entry)


def _joined(text: str, parts: Sequence[_Part], index: int) -> _Part | None:
    if index >= len(parts) or text[parts[index - 1].end : parts[index].start] not in _JOINING:
        return None
    return parts[index]


def _scaled(text: str, parts: Sequence[_Part], index: int) -> tuple[NumberMention, int]:
    """Return digits with the scales behind them: 2 mil millones."""
    first, scale = parts[index], 1
    index += 1
    while scale < _LARGEST_SCALE and (part := _joined(text, parts, index)) is not None and part.entry is not None:
        if part.entry.role not in {Role.HUNDRED, Role.SCALE} or first.kind is NumberKind.CLOCK:
            break
        scale *= part.entry.value
        index += 1
    end = parts[index - 1].end
    if scale == 1:
        return NumberMention(first.start, end, first.kind, first.readings), index
    readings = tuple((value * scale,) for value, *others in first.readings if not others and not isinstance(value, str))
    return NumberMention(first.start, end, first.kind, readings or first.readings, first.readings[0]), index


def _composed(text: str, parts: Sequence[_Part], index: int) -> tuple[NumberMention, int]:
    first, composition = parts[index], Composition()
    entry = first.entry
    part: _Part | None = first
    while part is not None and part.kind is NumberKind.WORDS and len(composition.entries) < _MAX_WORDS:
        entry = part.entry
        if entry is None:
            following = _joined(text, parts, index + 1)
            if following is None or following.entry is None or not composition.can_join(following.entry):
                break
            behind = _joined(text, parts, index + 2)
            if behind is not None and behind.entry is not None and behind.entry.role in {Role.HUNDRED, Role.SCALE}:
                break
            composition.join()
        elif not composition.take(entry):
            break
        index += 1
        part = _joined(text, parts, index)
    end = parts[index - 1].end
    readings = composition.readings()
    kind = NumberKind.ORDINAL if composition.is_ordinal else NumberKind.WORDS
    if is_half_hour(text, composition.value, first.start):
        return NumberMention(first.start, end, kind, half_before(composition.value)), index
    if is_hour(text, composition.value, end) and composition.value > 1:
        hours = tuple((hour,) for hour in hours_of(composition.value))
        return NumberMention(first.start, end, kind, (*hours, *readings, *spoken_readings(composition.value))), index
    readings = (*readings, *spoken_readings(composition.value))
    return NumberMention(first.start, end, NumberKind.HINT if composition.is_weak else kind, readings), index
