"""Names, numbers, weekdays and months of a pair, swapped for others.

From random names and numbers a model learns to copy unknown ones, and from swapped days to tell them apart.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from models.corpus import Pair

NAME = re.compile(r"\b[A-Z][a-zà-ÿ]{2,}\b")
# 1,250.75 · 1 250 · 9:30 · 14 h 30
NUMBER = re.compile(r"\d+(?:[.,:/-]\d+| \d{3}(?!\d)| h \d\d(?!\d))*")
DIGITS = re.compile(r"\d+")
CLOCK = re.compile(r"([01]?\d|2[0-3])(:|\.| h )([0-5]\d)")
# In manuals most capitalised words are products and titles.
NAME_SOURCES = frozenset({"tatoeba", "pawsx", "synthnames", "tico19"})
# Only these are surely names: rarer words on both sides are often nouns that both languages have.
COMMON_NAMES = 600
# Rarer ones are names, products and loans: words to copy.
KNOWN_NAMES = 20_000
SWAPPED_NAMES = 2
COMMON_SHARE, KNOWN_SHARE = 0.2, 0.6
# Of plain numbers, so that a model meets all of their lengths.
OTHER_LENGTH_SHARE = 0.15
LONGEST_NUMBER = 7
# One is singular, and zero is often a word.
SMALLEST = 2
FIRST_YEAR, LAST_YEAR = 1100, 2099
LAST_DAY, DAY_SHARE = 31, 0.8
# Between groups of three digits; other languages write 1,250.
GROUPING = {"de": ".", "es": ".", "fr": " ", "en": ","}

# Monday to Sunday, January to December.
_WEEKDAYS = 7
DAYS = {
    "en": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday "
    "January February March April May June July August September October November December",
    "de": "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag "
    "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "fr": "lundi mardi mercredi jeudi vendredi samedi dimanche "
    "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "es": "lunes martes miércoles jueves viernes sábado domingo "
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
}
# What the words around do not tell apart: "d'avril" but "de mai", "los lunes" but "los sábados".
EXCHANGEABLE = {
    "de": (range(_WEEKDAYS), range(_WEEKDAYS, 19)),
    "fr": (range(_WEEKDAYS), (7, 8, 9, 11, 12, 13, 15, 17, 18), (10, 14, 16)),
    "es": (range(5), range(5, _WEEKDAYS), range(_WEEKDAYS, 19)),
}


class Number(NamedTuple):
    """A number as written, on both sides."""

    english: str
    other: str


@dataclass(frozen=True)
class Swapper:
    """Swaps names (two at most), and the numbers, weekdays and months on which both sides agree."""

    names: tuple[str, ...]  # the most common first
    common: frozenset[str]

    @classmethod
    def over(cls, pairs: Iterable[Pair]) -> Swapper:
        """Return a swapper that knows the names in the pairs of NAME_SOURCES."""
        counts = Counter(name for pair in pairs if pair.source in NAME_SOURCES for name in shared_names(pair))
        names = tuple(name for name, _ in counts.most_common(KNOWN_NAMES))
        return cls(names, frozenset(names[:COMMON_NAMES]))

    def swap(self, pair: Pair, rng: random.Random) -> Pair:
        """Return the pair with other names, numbers, weekdays and months."""
        names = [name for name in shared_names(pair) if name in self.common]
        rng.shuffle(names)
        english = {name: self._name(rng) for name in names[:SWAPPED_NAMES]}
        other = dict(english)
        for old in shared_numbers(pair):
            new = other_number(old, pair.language, rng)
            english[old.english], other[old.other] = new
        changed = pair._replace(english=replaced(pair.english, english), other=replaced(pair.other, other))
        return with_other_days(changed, rng)

    def _name(self, rng: random.Random) -> str:
        kind = rng.random()
        if kind < COMMON_SHARE:
            return rng.choice(self.names[:COMMON_NAMES])
        if kind < KNOWN_SHARE:
            return rng.choice(self.names)
        # A beginning and an end of two names sound like a third.
        one, two = rng.choice(self.names), rng.choice(self.names)
        return one[: max(2, len(one) * 3 // 5)] + two[len(two) // 2 :]


def shared_names(pair: Pair) -> list[str]:
    """Return capitalised words on both sides, sorted."""
    return sorted(set(NAME.findall(pair.english)) & set(NAME.findall(pair.other)))


def shared_numbers(pair: Pair) -> Iterator[Number]:
    """Yield numbers that stand once on either side, with the same digits."""
    english, other = (numbers_by_digits(text) for text in (pair.english, pair.other))
    for digits in english.keys() & other.keys():
        if len(english[digits]) == len(other[digits]) == 1 and int(digits) >= SMALLEST:
            yield Number(english[digits][0], other[digits][0])


def numbers_by_digits(text: str) -> Mapping[str, list[str]]:
    """Return a text's numbers by their digits without separators."""
    found: dict[str, list[str]] = {}
    for match in NUMBER.finditer(text):
        found.setdefault("".join(DIGITS.findall(match.group())), []).append(match.group())
    return found


def other_number(old: Number, language: str, rng: random.Random) -> Number:
    """Return a number of the same kind and form: a time, a year, a day, an amount."""
    if CLOCK.fullmatch(old.english) and ":" in old.english:
        hour, minute = int(DIGITS.findall(old.english)[0]), rng.randrange(60)
        hour = rng.randint(1, 11) if hour < 12 else rng.randint(13, 23)
        return Number(*(CLOCK.sub(rf"{hour}\g<2>{minute:02}", text) for text in old))
    if not old.english.isdigit() or old.english != old.other:
        return with_other_digits(old, rng)
    value = int(old.english)
    if FIRST_YEAR <= value <= LAST_YEAR:
        year = str(rng.randint(FIRST_YEAR, LAST_YEAR))
        return Number(year, year)
    if value <= LAST_DAY and rng.random() < DAY_SHARE:
        day = str(rng.randint(SMALLEST, LAST_DAY))
        return Number(day, day)
    if len(old.english) > 1 and rng.random() < OTHER_LENGTH_SHARE:
        amount = rng.randrange(10 ** rng.randint(3, LONGEST_NUMBER - 1), 10**LONGEST_NUMBER)
        return Number(grouped(amount, "en"), grouped(amount, language))
    return with_other_digits(old, rng)


def with_other_digits(old: Number, rng: random.Random) -> Number:
    """Return the number with random digits, the same on both sides; the first stays zero or not."""
    digits = "".join(DIGITS.findall(old.english))
    drawn = [str(rng.randrange(10)) for _ in digits]
    if digits[0] != "0":
        drawn[0] = str(rng.randint(SMALLEST if len(digits) == 1 else 1, 9))
    else:
        drawn[0] = "0"
    sides: list[str] = []
    for text in old:
        rest = iter(drawn)
        sides.append("".join(next(rest) if char.isdigit() else char for char in text))
    return Number(*sides)


def grouped(amount: int, language: str) -> str:
    """Return the amount as the language writes it."""
    return f"{amount:,}".replace(",", GROUPING.get(language, ","))


def with_other_days(pair: Pair, rng: random.Random) -> Pair:
    """Return the pair with other weekdays and months, if both sides have the same."""
    if pair.language not in EXCHANGEABLE:
        return pair
    sides = (pair.english, "en"), (pair.other, pair.language)
    found, others = ({day for day, _ in days_in(*side)} for side in sides)
    if not found or found != others:
        return pair
    new: dict[int, int] = {}
    for group in EXCHANGEABLE[pair.language]:
        old = sorted(found.intersection(group))
        new.update(zip(old, rng.sample(group, len(old)), strict=True))
    english, other = (with_days(*side, new) for side in sides)
    return pair._replace(english=english, other=other)


def days_in(text: str, language: str) -> Iterator[tuple[int, re.Match[str]]]:
    """Yield the weekdays and months of a text, each with the match of its name without an ending."""
    names = DAYS[language].split()
    weekdays, months = "|".join(names[:_WEEKDAYS]), "|".join(names[_WEEKDAYS:])
    # Freitagabend, montags, Mondays; but "mai" is no "maison".
    pattern = re.compile(
        rf"(?<!\w)(?:{weekdays})|(?<!\w)(?:{months})(?!\w)", re.NOFLAG if language == "en" else re.IGNORECASE
    )
    folded = [name.lower() for name in names]
    return ((folded.index(match.group().lower()), match) for match in pattern.finditer(text))


def with_days(text: str, language: str, new: Mapping[int, int]) -> str:
    """Return the text with its weekdays and months replaced; a capital stays one."""
    names, position, parts = DAYS[language].split(), 0, list[str]()
    for day, match in days_in(text, language):
        name = names[new[day]]
        parts += [text[position : match.start()], name[0].upper() if match.group()[0].isupper() else name[0].lower()]
        parts.append(name[1:])
        position = match.end()
    return "".join([*parts, text[position:]])


def replaced(text: str, swaps: Mapping[str, str]) -> str:
    """Return the text with words and numbers swapped, all at once."""
    if not swaps:
        return text
    pattern = re.compile("|".join(rf"(?<!\w){re.escape(old)}(?!\w)" for old in sorted(swaps, key=len, reverse=True)))
    return pattern.sub(lambda match: swaps[match.group()], text)
