"""Reader: a text's numbers, as its language writes them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from apiserver.guards.numbers.east_asian_reader import may_have_numerals, numerals_of, read_east_asian
from apiserver.guards.numbers.readings import NumberMention
from apiserver.guards.numbers.spaced_reader import may_have_words, read_spaced
from apiserver.guards.numbers.vocabulary import EAST_ASIAN, SPACED, lexicon_of

# A text with more is a table, and longer ones are more than a segment: neither is read.
MAX_NUMBERS: Final = 128
MAX_CHARS: Final = 10_000
# Groups of digits that so many numbers have at most, which are counted faster than read.
_MAX_GROUPS: Final = 4 * MAX_NUMBERS
_DIGIT: Final = re.compile(r"[\d¼-¾⅐-⅞]")
_GROUP: Final = re.compile(r"\d+|[¼-¾⅐-⅞]")


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
