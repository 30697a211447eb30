"""Clock: times of day, and the ways to say them."""

from __future__ import annotations

import re
from typing import Final

from apiserver.guards.numbers.mentions import HALF, Reading

# Hours and minutes with a letter between: 9 h 30, 9 Uhr 30, 9時30分.
CLOCK: Final = r"(?P<hours>\d{1,2}) ?(?:[hH]|[Uu]hr|時|时|点|點|시) ?(?P<minutes>[0-5]?\d)(?!\d)"
_HOUR: Final = re.compile(
    r"[ \u00a0\u202f]?(?:[Uu]hr(?![^\W\d_])|[oO]['’ ]?[cC]lock|[aApP]\.? ?[mM]\b\.?|[hH](?![^\W\d_])|[hH]eures?\b"
    r"|[hH]oras?\b|[hH]rs?\b|hours\b|時(?!間)|时(?!间)|点|點|시(?!간))"
)
_HALF_BEFORE: Final = re.compile(r"(?<!\w)[Hh]alb[ \u00a0]$")
# Midnight has no zero, because nobody needs to say that.
_MIDNIGHT: Final = 24
# Spelled minutes may be before the hour, which is a negative reading.
MINUTES: Final = 60


def is_hour(text: str, hour: int, end: int) -> bool:
    """Return whether a number ending here is an hour."""
    return hour <= _MIDNIGHT and _HOUR.match(text, end) is not None


def is_half_hour(text: str, hour: int, start: int) -> bool:
    """Return whether a number is an hour after "halb".

    The German halb zwölf is half past eleven.
    """
    return hour <= _MIDNIGHT and _HALF_BEFORE.search(text[max(0, start - 6) : start]) is not None


def hours_of(hour: int) -> tuple[int, ...]:
    """Return an hour in both halves of the day."""
    hour = hour or _MIDNIGHT
    return (hour, hour - 12 if hour > 12 else hour + 12)


def half_before(hour: int) -> tuple[Reading, ...]:
    """Return the readings of half an hour before an hour."""
    return tuple((before, minutes) for before in hours_of((hour - 1) % 24) for minutes in (30, HALF))


def clock_readings(hours: int, minutes: int) -> tuple[Reading, ...]:
    """Return a time's readings.

    Minutes before the next hour are negative, and only spelled numbers have that hour (ten to six).
    """
    if minutes == 0:
        return tuple((hour,) for hour in hours_of(hours))
    after = tuple((hour, minutes) for hour in hours_of(hours))
    return (*after, *((f"<{hour}", minutes - MINUTES) for hour in hours_of((hours + 1) % 24)))


def spoken_readings(value: int) -> tuple[Reading, ...]:
    """Return a spelled number's readings as minutes or hour before."""
    if value >= MINUTES:
        return ()
    return ((-value,), (f"<{value}",)) if value <= _MIDNIGHT else ((-value,),)
