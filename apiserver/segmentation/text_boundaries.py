"""Text boundaries: places to cut sentences, found by ICU."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import accumulate
from typing import Final
from unicodedata import category

from icu4py.breakers import CharacterBreaker, LineBreaker, WordBreaker

from apiserver.formats.document import FIRST_PLACEHOLDER, LAST_PLACEHOLDER

LOOKAHEAD: Final = 64  # behind the last place, so that ICU sees whole words

_CLOSERS: Final = "\"'”’»›)\\]"
_WIDE_CLOSERS: Final = "”’」』）】》〉"
_PLACEHOLDERS: Final = f"{chr(FIRST_PLACEHOLDER)}-{chr(LAST_PLACEHOLDER)}"
# Possessive quantifiers keep these linear.
_SENTENCE: Final = re.compile(
    rf"(?<![.!?…])[.!?…]++[{_CLOSERS}{_PLACEHOLDERS}]*+\s|[。！？｡؟۔।॥።။។៕]++[{_WIDE_CLOSERS}]*+\s?"
)
_CLAUSE: Final = re.compile(
    rf"(?<![,;:–—])[,;:–—]++[{_CLOSERS}{_PLACEHOLDERS}]*+\s|[、，；：،؛]++[{_WIDE_CLOSERS}]*+\s?"
)
_SENTENCE_OR_CLAUSE: Final = re.compile(f"{_SENTENCE.pattern}|{_CLAUSE.pattern}")
_SPACE: Final = re.compile(r"\s")

_LANGUAGE: Final = re.compile(r"[a-z]{2,3}")
# ICU takes UTF-8; a combining mark keeps replaced pairs together.
_SECOND: Final = re.compile("(?<=[\ud800-\udbff])[\udc00-\udfff]")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_PLAIN: Final = frozenset({"Lu", "Ll", "Lt", "Lo", "Nd"})  # never in a cluster with white space or punctuation before


def best_break(text: str, start: int, aim: int, reach: int, language: str) -> int | None:
    """Return the best place to cut, at most ``reach`` characters behind ``start``.

    The end of a sentence, else clause, white space, word or cluster, nearest to ``start + aim``. None if one cluster is
    longer. Reads at most ``reach + LOOKAHEAD`` characters.
    """
    stop = min(start + reach, len(text))
    middle = start + aim
    for kind in (_SENTENCE, _CLAUSE, _SPACE):
        ends = (match.end() for match in kind.finditer(text, start + aim // 2, stop + LOOKAHEAD))
        if (place := _nearest(text, (end for end in ends if end <= stop), middle)) is not None:
            return place
    near = text[start : stop + LOOKAHEAD]
    ends = _inner_ends(near, stop - start, language)
    return start + min(ends, key=lambda end: abs(end - aim)) if ends else None


def middle_break(text: str, language: str) -> int | None:
    """Return the white space, word or cluster end nearest the middle."""
    middle = len(text) // 2
    if (place := _nearest(text, (match.end() for match in _SPACE.finditer(text)), middle)) is not None:
        return place
    ends = _inner_ends(text, len(text), language)
    return min(ends, key=lambda end: abs(end - middle)) if ends else None


def clause_ends(text: str) -> list[int]:
    """Return where clauses end inside the text."""
    places = (match.end() for match in _SENTENCE_OR_CLAUSE.finditer(text))
    return [place for place in places if place < len(text) and is_cluster_end(text, place)]


def cluster_ends(text: str) -> list[int]:
    """Return where clusters end, with the text's end."""
    return list(accumulate(map(len, CharacterBreaker(_encodable(text), "root"))))


def first_cluster(text: str) -> int:
    """Return the first cluster's length, or 0."""
    return len(next(iter(CharacterBreaker(_encodable(text), "root")), ""))


def is_cluster_end(text: str, place: int) -> bool:
    """Return whether a cluster ends there, behind white space or punctuation."""
    return category(text[place]) in _PLAIN or len(cluster_ends(text[place - 1 : place + 1])) > 1


def _nearest(text: str, places: Iterable[int], middle: int) -> int | None:
    for place in sorted(places, key=lambda place: abs(place - middle)):
        if 0 < place < len(text) and is_cluster_end(text, place):
            return place
    return None


def _inner_ends(text: str, reach: int, language: str) -> list[int]:
    last = min(reach, len(text) - 1)
    clusters = [end for end in cluster_ends(text) if end <= last]
    words = _word_ends(text, language)
    return [end for end in clusters if end in words] or clusters


def _word_ends(text: str, language: str) -> set[int]:
    code = language.partition("-")[0]
    locale = code if _LANGUAGE.fullmatch(code) else "root"
    encodable = _encodable(text)
    lines, words = LineBreaker(encodable, locale), WordBreaker(encodable, locale)
    return set(accumulate(map(len, lines))) & set(accumulate(map(len, words)))


def _encodable(text: str) -> str:
    if not _SURROGATE.search(text):
        return text
    return _SURROGATE.sub("\ufffd", _SECOND.sub("\u0301", text))
