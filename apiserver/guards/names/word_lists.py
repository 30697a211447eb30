"""Word lists: words that need not survive, and names that are translated.

``words/TAG.txt`` has a language's ordinary words in lower case; those in capitals are names too (Bill).
``python -m benchmarks.quality.alarms.name_words`` writes them; sources and licence: ``words/ATTRIBUTION.md``. CLDR has
territories, languages, and the cities of time zones; ``exonyms.tsv`` other places, months, and monarchs.
"""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Annotated, Final, cast

from babel.core import get_global
from pydantic import BaseModel, BeforeValidator, ConfigDict

from apiserver.guards.names.spelling import folded
from apiserver.protection.number_conventions import locale_of
from shared.languages import LanguagePair, language_of

# Letters of a stem, and of a compound's first part.
LEAST_STEM: Final = 4
LEAST_FIRST_PART: Final = 2
# Of forms of a word, in the languages with lists.
_WRITTEN_ENDINGS: Final = (
    "s es ed d ing er ers ly r e en n em et te ten t st est in nen x nt ent ons ez é ée és ées a as o os an mos lo la le "
    "los las les me se"
)
_ENDINGS: Final = tuple(_WRITTEN_ENDINGS.split())
_FOLDER: Final = Path(__file__).with_name("words")
LISTED: Final = frozenset(file.stem for file in _FOLDER.glob("*.txt"))
CAPITALIZED_NOUNS: Final = frozenset({"de"})  # they join nouns too
# A catalog serves a few dozen languages; one takes about 1 MB.
CACHED_LANGUAGES: Final = 64
_EXONYMS: Final = Path(__file__).with_name("exonyms.tsv")
_NAME_WORD: Final = re.compile(r"[^\W\d_]{2,}")


def _split(text: str) -> frozenset[str]:
    return frozenset(text.split())


_Words = Annotated[frozenset[str], BeforeValidator(_split)]


class NameWords(BaseModel):
    """Words around names.

    ``offices`` stand before names, but also alone, and ``editions`` behind products. ``loans`` are ordinary in other
    scripts. ``titles`` (a pattern) stand before surnames. By language: ``articles`` before products, as a pattern, and
    ``particles`` that are its words: Paul de Paris; ``introductions`` before names that are words too, as a pattern, and
    ``no_names``, which are none even there: peoples, holidays and people's roles.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    forms_of_address: frozenset[str]
    offices: frozenset[str]
    editions: frozenset[str]
    loans: frozenset[str]
    titles: str
    articles: Mapping[str, str]
    particles: Mapping[str, frozenset[str]]
    introductions: Mapping[str, str]
    no_names: Mapping[str, _Words]


NAME_WORDS: Final = NameWords.model_validate(
    tomllib.loads(Path(__file__).with_name("name_words.toml").read_text(encoding="utf-8"))
)


def may_be_ordinary(word: str, language: str) -> bool:
    """Return whether a word, its stem or its compound's end is listed."""
    return is_ordinary_among(word.lower(), _words(language), joins=language in CAPITALIZED_NOUNS)


def is_listed(word: str, language: str) -> bool:
    """Return whether a list has the word itself."""
    return word.lower() in _words(language)


def is_ordinary_inside(word: str, language: str) -> bool:
    """Return whether a word with a capital inside a sentence is ordinary."""
    words = _words(language)
    return word not in words and word.lower() in words


def is_ordinary_among(word: str, words: Collection[str], *, joins: bool) -> bool:
    """Return whether a list has the word, its stem, or end (``joins``)."""
    starts = range(LEAST_FIRST_PART, len(word) - LEAST_STEM + 1) if joins else ()
    return _is_form(word, words) or any(
        word[start:] in words if len(word) - start == LEAST_STEM else _is_form(word[start:], words) for start in starts
    )


def _is_form(word: str, words: Collection[str]) -> bool:
    if word in words:
        return True
    if len(word) < LEAST_STEM:
        return False
    stems = (word[: -len(ending)] for ending in _ENDINGS if word.endswith(ending))
    return any(len(stem) >= LEAST_STEM and stem in words for stem in stems) or f"{word}n" in words


@lru_cache(maxsize=len(LISTED))
def _words(language: str) -> frozenset[str]:
    text = (_FOLDER / f"{language}.txt").read_text(encoding="utf-8") if language in LISTED else ""
    return frozenset(filter(None, text.split("\n")))


@dataclass(frozen=True, slots=True)
class PlaceNames:
    """Folded words of names by their keys, and keys by word."""

    words: Mapping[str, frozenset[str]]
    keys: Mapping[str, Sequence[str]]


def translated_words(word: str, pair: LanguagePair) -> frozenset[str]:
    """Return the folded words of other names: allemagne for germany."""
    source, target = place_names_of(pair.source), place_names_of(pair.target)
    names = (target.words.get(key, frozenset[str]()) for key in source.keys.get(word, ()))
    return frozenset(chain.from_iterable(name for name in names if word not in name))


@lru_cache(maxsize=CACHED_LANGUAGES)
def place_names_of(tag: str) -> PlaceNames:
    """Return CLDR's names and our exonyms; a new language takes 20 ms."""
    words = {key: frozenset(map(folded, _NAME_WORD.findall(name))) for key, name in _names(tag)}
    keys: defaultdict[str, list[str]] = defaultdict(list)
    for key, name in words.items():
        for word in name:
            keys[word].append(key)
    return PlaceNames(words, dict(keys))


def _names(tag: str) -> Iterator[tuple[str, str]]:
    yield from _exonyms(language_of(tag))
    if (locale := locale_of(tag)) is None:
        return
    for kind, names in (("territory", locale.territories), ("language", locale.languages)):
        yield from ((f"{kind} {key}", name) for key, name in cast("Mapping[str, str]", names).items())
    zones = cast("Mapping[str, Mapping[str, str]]", locale.time_zones)
    for zone in get_global("zone_territories"):
        yield f"city {zone}", zones.get(zone, {}).get("city") or zone.rpartition("/")[2].replace("_", " ")


def _exonyms(language: str) -> Iterator[tuple[str, str]]:
    header, *rows = (line.split("\t") for line in _EXONYMS.read_text(encoding="utf-8").splitlines())
    if language in header:
        column = header.index(language)
        yield from ((f"exonym {row[0]}", row[column]) for row in rows)
