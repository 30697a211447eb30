"""The list of places in memory that words of callers can fill: those of both servers.

A new cache or table fails ``test_places.py`` until it stands here, in ``proxy_places.py`` or in ``apiserver_places.py``.
"""

# What objects keep is private.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast
from urllib import parse

import langcodes
from langcodes import language_distance
from pydantic_core import from_json
from uvicorn.middleware.proxy_headers import _TrustedHosts

from shared import languages
from shared.languages import LanguagePair, canonical_tag, language_of
from shared.runtime import logging as server_logging
from shared.runtime.metrics import MAX_PAIRS, Count, MetricFamily

# Letters in which numbers are written as language, script and region.
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class Place:
    """A cache or table of at most ``bound`` entries; ``fill`` offers it entry number n of what callers choose.

    ``size`` is None where a library shows none: then only resident memory tells. ``holds_texts``: words of texts may stay
    there after the answer.
    """

    name: str
    bound: int
    size: Callable[[], int] | None
    fill: Callable[[int], object]
    holds_texts: bool = False
    # How often ``fill`` is called, where each call offers more or less than one entry.
    offers: int = 0


def cache_place(function: Any, fill: Callable[[int], object], *, holds_texts: bool = False) -> Place:
    """Return the place that an ``lru_cache`` is."""
    bound = function.cache_info().maxsize
    name = f"{function.__module__}.{function.__qualname__}"
    return Place(name, bound, lambda: function.cache_info().currsize, fill, holds_texts)


def fresh_tag(number: int, language: str = "sv") -> str:
    """Return a canonical tag with a script of its own; there are 400,000."""
    letters = "".join(_LETTERS[number // 26**place % 26] for place in range(4))
    return f"{language}-{letters.title()}"


def fresh_pair(number: int) -> LanguagePair:
    """Return a pair of tags that nobody serves."""
    return LanguagePair(fresh_tag(number), fresh_tag(number, "fi"))


def _langcodes_place(owner: Any, name: str, fill: Callable[[int], object]) -> Place:
    """Return a cache of langcodes, which keeps nothing, because it has no bound."""
    return Place(f"{owner.__name__}.{name}", 0, lambda: len(cast("Any", vars(owner)[name])), fill, offers=200)


def _label(number: int) -> None:
    _METRIC.labels(str(fresh_pair(number))).inc()


class _Registry:
    """A registry of metrics that exports none."""

    def register(self, _: object) -> None:
        """Accept a metric."""


# Any: the library says nothing of its caches.
_RE: Mapping[str, Any] = vars(re)
_TRUSTED = _TrustedHosts("10.0.0.0/8")
_METRIC: MetricFamily[Count] = MetricFamily(Count, "test", "A metric.", ["pair"], _Registry())  # pyright: ignore[reportArgumentType]


def shared_places() -> Sequence[Place]:
    """Return the places of both servers."""
    return (
        cache_place(languages._plain_tag, lambda number: canonical_tag(fresh_tag(number))),
        cache_place(languages.language_of, lambda number: language_of(fresh_tag(number))),
        cache_place(languages.language_and_script, lambda number: languages.language_and_script(fresh_tag(number))),
        cache_place(server_logging._local_second, server_logging._local_second),
        _langcodes_place(langcodes.Language, "_INSTANCES", lambda number: canonical_tag(f"fr-x-{number}")),
        _langcodes_place(langcodes.Language, "_PARSE_CACHE", lambda number: canonical_tag(f"fr-a-{number:02}")),
        _langcodes_place(
            language_distance, "_DISTANCE_CACHE", lambda number: languages.display_name(fresh_tag(number), "de")
        ),
        # Patterns of tags of served pairs and of templates; none has words of a text.
        Place(
            "re._cache",
            _RE["_MAXCACHE"],
            lambda: len(_RE["_cache"]),
            lambda number: re.compile(f"a{number}"),
        ),
        cache_place(_RE["_compile_repl"], lambda number: re.sub("a", rf"\g<0>{number}", "a")),
        cache_place(parse.urlsplit, lambda number: parse.urlsplit(f"http://h{number}/")),
        cache_place(vars(parse)["_byte_quoter_factory"], lambda number: parse.quote("é", safe=f"{number}")),
        # Addresses in X-Forwarded-For, where a web server in front is trusted.
        Place(
            "uvicorn.middleware.proxy_headers._TrustedHosts._trusts",
            4096,
            lambda: _TRUSTED._trusts.cache_info().currsize,
            lambda number: f"2001:db8::{number:x}" in _TRUSTED,
        ),
        # Pairs of the labels of one metric; outcomes and languages are from closed lists.
        Place("shared.runtime.metrics.MetricFamily._pairs", MAX_PAIRS + 1, lambda: len(_METRIC._pairs), _label),
        # Strings of at most 64 bytes in reports of replicas and records of keys, in a table of jiter (pydantic-core) that
        # overwrites itself. Bodies, answers and glossaries are read without it.
        Place("jiter.py_string_cache", 16_384, None, lambda number: from_json(f'{{"n{number}": "v{number}"}}')),
    )
