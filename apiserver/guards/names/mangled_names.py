"""Mangled names: copies of a name that end otherwise.

Such a word of the source is a name that no capital shows, because it looks like a compound: Hellwerk in German.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from apiserver.guards.names.candidate import CandidateKind
from apiserver.guards.names.candidates import candidates_in
from apiserver.guards.names.output_names import OutputNames
from apiserver.guards.names.spelling import folded
from shared.languages import LanguagePair

# Letters of a common beginning; fewer are chance.
COMMON: Final = 4
_CAPITAL: Final = re.compile(rf"(?<![^\W\d_])[^\W\d_a-z][^\W\d_]{{{COMMON - 1},39}}(?![^\W\d_])")


def mangled_names(source: str, output: str, pair: LanguagePair) -> Iterator[str]:
    """Yield the source's words that the output has only mangled."""
    words, others = _capitals_in(source), _capitals_in(output)
    beginnings = {word[:COMMON] for word in others}
    lost = {word: written for word, written in words.items() if word not in others and word[:COMMON] in beginnings}
    if not lost:
        return
    names = {folded(each.text) for each in candidates_in(output, pair.target) if each.kind is CandidateKind.NAME}
    ours = OutputNames(source, LanguagePair(pair.target, pair.source))
    invented = [name for name in names if name in others and not ours.has_word(others[name])]
    yield from (written for word, written in lost.items() if any(_is_alike(word, name) for name in invented))


def _capitals_in(text: str) -> dict[str, str]:
    """Return the words with a capital by their folded forms."""
    return {folded(word): word for word in _CAPITAL.findall(text)}


def _is_alike(word: str, other: str) -> bool:
    """Return whether half of the shorter word is common."""
    size = max(COMMON, (min(len(word), len(other)) + 1) // 2)
    return word[:size] == other[:size]
