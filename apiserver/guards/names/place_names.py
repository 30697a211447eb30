"""Place names: their translations, and those of languages.

CLDR has territories, the cities of its time zones, and languages; ``exonyms.tsv`` other places, months, and monarchs' names.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final, cast

from babel.core import get_global

from apiserver.guards.names.spelling import folded
from apiserver.protection.number_conventions import locale_of
from shared.languages import LanguagePair, language_of

# A catalog serves a few dozen languages; one takes about 1 MB.
CACHED_LANGUAGES: Final = 64
_EXONYMS: Final = Path(__file__).with_name("exonyms.tsv")
_WORD: Final = re.compile(r"[^\W\d_]{2,}")


@dataclass(frozen=True, slots=True)
class PlaceNames:
    """Folded words of names in one language, both ways.

    ``words`` by the name's key, ``keys`` by word.
    """

    words: Mapping[str, frozenset[str]]
    keys: Mapping[str, Sequence[str]]


def translated_words(word: str, pair: LanguagePair) -> frozenset[str]:
    """Return the words of the translated names that have this word.

    All are folded: germany gives allemagne. A name that keeps the word gives none.
    """
    source, target = place_names_of(pair.source), place_names_of(pair.target)
    names = (target.words.get(key, frozenset[str]()) for key in source.keys.get(word, ()))
    return frozenset[str]().union(*(name for name in names if word not in name))


@lru_cache(maxsize=CACHED_LANGUAGES)
def place_names_of(tag: str) -> PlaceNames:
    """Return CLDR's names and our exonyms; a new language takes 20 ms."""
    words = {key: frozenset(map(folded, _WORD.findall(name))) for key, name in _names(tag)}
    keys: defaultdict[str, list[str]] = defaultdict(list)
    for key, name in words.items():
        for word in name:
            keys[word].append(key)
    return PlaceNames(words, dict(keys))


def _names(tag: str) -> Iterator[tuple[str, str]]:
    yield from _exonyms(language_of(tag))
    locale = locale_of(tag)
    if locale is None:
        return
    yield from ((f"territory {key}", name) for key, name in cast("Mapping[str, str]", locale.territories).items())
    yield from ((f"language {key}", name) for key, name in cast("Mapping[str, str]", locale.languages).items())
    zones = cast("Mapping[str, Mapping[str, str]]", locale.time_zones)
    for zone in get_global("zone_territories"):
        yield f"city {zone}", zones.get(zone, {}).get("city") or zone.rpartition("/")[2].replace("_", " ")


def _exonyms(language: str) -> Iterator[tuple[str, str]]:
    header, *rows = (line.split("\t") for line in _EXONYMS.read_text(encoding="utf-8").splitlines())
    if language in header:
        column = header.index(language)
        yield from ((f"exonym {row[0]}", row[column]) for row in rows)
