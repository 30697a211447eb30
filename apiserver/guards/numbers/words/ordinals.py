"""Ordinal words, derived from cardinal ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

_GERMAN_STEMS: Final = {1: "erst", 3: "dritt", 7: "siebt", 8: "acht"}
_FRENCH_STEMS: Final = {"cinq": "cinqu", "neuf": "neuv"}


def derive_ordinals(language: str, cardinals: Mapping[str, int]) -> dict[str, int]:
    """Return a language's ordinal words; none if its rule is unknown."""
    derive = _RULES.get(language)
    if derive is None:
        return {}
    return {word: number for cardinal, number in cardinals.items() for word in derive(cardinal, number)}


def _german(cardinal: str, number: int) -> tuple[str, ...]:
    stem = _GERMAN_STEMS.get(number) or cardinal + ("t" if number < 20 else "st")
    return tuple(stem + ending for ending in ("e", "en", "er", "es", "em", "ens"))


def _french(cardinal: str, number: int) -> tuple[str, ...]:
    if number < 2:
        return ()
    head, space, last = cardinal.rpartition(" ")
    stem = _FRENCH_STEMS.get(last) or last.removesuffix("s" if last == "vingts" else "e")
    return tuple(f"{head}{space}{stem}{ending}" for ending in ("ième", "ièmes", "ièmement"))


_RULES: Final[Mapping[str, Callable[[str, int], tuple[str, ...]]]] = {"de": _german, "fr": _french}
