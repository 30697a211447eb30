"""Place names: CLDR's translations of territories, cities and languages."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, cast

from babel import Locale, UnknownLocaleError
from babel.core import get_global

from apiserver.guards.names.spelling import folded
from shared.languages import LanguagePair

# A catalog serves a few dozen languages, and a few pairs of each.
CACHED_LANGUAGES: Final = 64
CACHED_PAIRS: Final = 512
_NO_WORDS: Final[frozenset[str]] = frozenset()
_WORD: Final = re.compile(r"[^\W\d_]{2,}")


def translated_words(word: str, pair: LanguagePair) -> frozenset[str]:
    """Return the words of the translated names that have this word.

    All are folded: germany gives allemagne.
    """
    return _translations(pair).get(word, _NO_WORDS)


@lru_cache(maxsize=CACHED_PAIRS)
def _translations(pair: LanguagePair) -> Mapping[str, frozenset[str]]:
    source, target = _names(pair.source), _names(pair.target)
    translations: defaultdict[str, set[str]] = defaultdict(set)
    for key in source.keys() & target.keys():
        for word in source[key] - target[key]:
            translations[word] |= target[key]
    return {word: frozenset(words) for word, words in translations.items()}


@lru_cache(maxsize=CACHED_LANGUAGES)
def _names(tag: str) -> Mapping[str, frozenset[str]]:
    try:
        locale = Locale.parse(tag, sep="-")
    except (UnknownLocaleError, ValueError):  # CLDR does not know the language
        return {}
    territories, languages = cast("Mapping[str, str]", locale.territories), cast("Mapping[str, str]", locale.languages)
    zones = cast("Mapping[str, Mapping[str, str]]", locale.time_zones)
    names = {f"territory {key}": name for key, name in territories.items()}
    names |= {f"language {key}": name for key, name in languages.items()}
    for zone in get_global("zone_territories"):
        city = zones.get(zone, {}).get("city")
        names[f"city {zone}"] = zone.rpartition("/")[2].replace("_", " ") if city is None else city
    return {key: frozenset(map(folded, _WORD.findall(name))) for key, name in names.items()}
