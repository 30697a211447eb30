"""Dates and times: German days, lost halves of the day."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from apiserver.guards.numbers.readings import NumberKind, NumberMention
from apiserver.guards.numbers.vocabulary import month_names
from apiserver.protection.number_conventions import CACHED_TAGS
from shared.languages import LanguagePair, language_of

# Am 21. in Oslo: a day of a month that is not said.
_GERMAN_DAY: Final = re.compile(
    r"(?<!\w)(?:am|zum|vom|den|dem|der) (?P<day>(?P<number>[1-9]|[12]\d|3[01])\.)(?=,? [a-zäöü])"
)
_ENGLISH_DAY: Final = re.compile(r"(?<![\w.,:])(?P<number>\d{1,2})(?P<ending>st|nd|rd|th)?(?![\w:]|[.,]\d)")
_WORD: Final = re.compile(r"[^\W\d_]+")
NOON: Final = 12
# Until then, "at night" is a morning.
_END_OF_NIGHT: Final = 6
_TIME: Final = r"(?<![\w.,:])(?P<hour>1[0-2]|0?[1-9])(?:\s?(?::|\.|h|Uhr|heures)\s?(?P<minute>[0-5]\d))?(?![\d:.,]\d)"
# Not "I am" and the German "am".
_A_M: Final = r"\ba\.\s?m\b|(?-i:(?<![^\W\d_])AM\b)|(?<=\d)am\b"
_P_M: Final = r"(?<![^\W\d_])p\.?\s?m\b"


# Between a time and the half that belongs to it.
_NEAR: Final = r"\s{0,2}(?:Uhr|h|heures?|horas?)?\s{0,2}(?:am |du |de la |in the )?"


class _Half(NamedTuple):
    words: re.Pattern[str]
    behind: re.Pattern[str]


class Markers(NamedTuple):
    """A language's words for halves of the day, and times with one.

    A night is in both halves. ``time`` has its half as ``marker``.
    """

    morning: _Half
    evening: _Half
    time: re.Pattern[str] | None = None


class HalfDayTime(NamedTuple):
    """A time of a source, by the 24-hour clock."""

    start: int
    end: int
    hour: int
    minute: int


def _half(words: str) -> _Half:
    return _Half(re.compile(words, re.IGNORECASE), re.compile(f"{_NEAR}(?:{words})", re.IGNORECASE))


def _markers(morning: str, evening: str, time: str | None = None) -> Markers:
    pattern = None if time is None else re.compile(f"{_TIME}{time}", re.IGNORECASE)
    return Markers(_half(morning), _half(evening), pattern)


_MARKERS: Final[Mapping[str, Markers]] = {
    "en": _markers(
        rf"{_A_M}|(?<=\d)\sam\b|\b(?:morning|night|midnight|dawn)",
        rf"{_P_M}|\b(?:afternoon|evening|night|tonight|noon)",
        # The full stop of a sentence stays.
        r"\s?(?P<marker>[ap]\.?\s?m)\b(?:\.(?!\s*$))?",
    ),
    "de": _markers(
        rf"{_A_M}|früh|\b(?:morgens?|nachts?)\b|(?:vormittag|morgen|nacht)s?\b",
        rf"{_P_M}|(?:(?:nach)?mittag|abend|nacht)s?\b",
        r"\s?(?:Uhr)?\s?(?P<marker>morgens|früh|(?:vor|nach)?mittags|abends|nachts)\b",
    ),
    "fr": _markers(
        rf"{_A_M}|\b(?:matin|matinée|nuit|minuit)\b",
        rf"{_P_M}|\b(?:après-midi|soir|soirée|nuit|midi)\b",
        r"\s?(?:h|heures?)?\s(?:du |de l['’])(?P<marker>matin|après-midi|soir)\b",
    ),
    "es": _markers(
        rf"{_A_M}|\b(?:mañana|madrugada|noche|medianoche)\b",
        rf"{_P_M}|\b(?:tarde|noche|mediodía)\b",
        r"\s(?:horas\s)?de la (?P<marker>mañana|madrugada|tarde|noche)\b",
    ),
    "ja": _markers("午前|朝|夜|未明|明け方", "午後|夜|晩|夕|昼"),
    "zh": _markers("上午|早|凌晨|清晨|夜", "下午|晚|夜|傍晚|中午|午后"),
    "ko": _markers("오전|아침|새벽|밤", "오후|저녁|밤|낮"),
}


def lost_days(source: str, translation: str, pair: LanguagePair) -> Iterator[tuple[int, int]]:
    """Yield German days whose number English has without "th"."""
    if language_of(pair.source) != "de" or language_of(pair.target) != "en":
        return
    days = list(_GERMAN_DAY.finditer(source))
    if not days or not months_of(pair.target).keys().isdisjoint(map(str.lower, _WORD.findall(translation))):
        return
    plain = {match["number"] for match in _ENGLISH_DAY.finditer(translation) if match["ending"] is None}
    full = {match["number"] for match in _ENGLISH_DAY.finditer(translation) if match["ending"] is not None}
    yield from (match.span("day") for match in days if match["number"] in plain - full)


@lru_cache(maxsize=CACHED_TAGS)
def months_of(tag: str) -> Mapping[str, int]:
    """Return the numbers of months by their names in lower case."""
    return {name.lower(): number for name, number in month_names(tag) if name.isalpha()}


def times_in(text: str, language: str) -> Iterator[HalfDayTime]:
    """Yield the times whose half of the day stands beside them."""
    markers = _MARKERS.get(language)
    if markers is None or markers.time is None:
        return
    for match in markers.time.finditer(text):
        hour, marker = int(match["hour"]) % NOON, match["marker"]
        is_evening = marker[0] in "pP" if language == "en" else markers.evening.words.fullmatch(marker) is not None
        is_night = language != "en" and markers.morning.words.fullmatch(marker) is not None
        if is_evening and not (is_night and hour < _END_OF_NIGHT):
            hour += NOON
        yield HalfDayTime(*match.span(), hour, int(match["minute"] or 0))


def lost_halves(
    times: Sequence[HalfDayTime], translation: str, theirs: Sequence[NumberMention], language: str
) -> Iterator[HalfDayTime]:
    """Yield times whose half of the day the translation lacks or changed."""
    markers = _MARKERS.get(language)
    if not times or markers is None:
        return
    is_said = {half: half.words.search(translation) is not None for half in (markers.morning, markers.evening)}
    for time in times:
        own, other = markers.morning, markers.evening
        if time.hour >= NOON:
            own, other = other, own
        if is_said[own]:
            continue
        ends = [mention.end for mention in theirs if _hour_of(mention) == time.hour]
        # Two names of one half, such as German "nachts", are both.
        if not any(other.behind.match(translation, end) is None or own.behind.match(translation, end) for end in ends):
            yield time


def _hour_of(mention: NumberMention) -> int | None:
    """Return the hour as it is written; midday is a hint."""
    hour = mention.readings[0][0]
    if not isinstance(hour, int):
        return None
    return None if mention.kind is NumberKind.HINT and hour != NOON else hour % 24
