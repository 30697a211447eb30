"""Spaced reader: numbers of languages that write spaces between words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from apiserver.guards.numbers.clock import half_before, hours_of, is_half_hour, is_hour, spoken_readings
from apiserver.guards.numbers.digit_runs import CLOCK_OR_RUN, VULGAR_FRACTION, read_fraction, read_run
from apiserver.guards.numbers.mentions import NumberKind, NumberMention, Reading
from apiserver.guards.numbers.words.composition import Composition
from apiserver.guards.numbers.words.lexicon import Entry, Lexicon, Role
from apiserver.guards.numbers.words.roman import roman_value

_WORD: Final = re.compile(r"[^\W\d_]+")
_TOKEN: Final = re.compile(rf"{CLOCK_OR_RUN}|(?P<vulgar>{VULGAR_FRACTION})|(?P<word>[^\W\d_]+)")
# Between two words of one number.
_JOINING: Final = frozenset({" ", "-", "‑", "\u00a0", "\u202f", ""})
# More words than any phrase has.
_WINDOW: Final = 6
# More words than any number has, and a larger scale: their products would be slow.
_MAX_WORDS: Final = 24
_LARGEST_SCALE: Final = 10**24


class _Part(NamedTuple):
    """Digits, a phrase, or a joining word, which has no readings."""

    start: int
    end: int
    readings: tuple[Reading, ...]
    entry: Entry | None = None
    kind: NumberKind = NumberKind.WORDS


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
    """Return the part at an index if it continues the last."""
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
    """Return the number that words make together."""
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
