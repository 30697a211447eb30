"""Name guard: finds the names of a source that an output lacks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from apiserver.guards.names import word_lists
from apiserver.guards.names.candidates import MAX_CHARS, candidates_in
from apiserver.guards.names.mangled_names import mangled_names
from apiserver.guards.names.output_names import OutputNames
from apiserver.guards.names.place_names import place_names_of
from shared.languages import LanguagePair, language_of

# Behind Latin letters with marks.
LATIN_END: Final = "\u0250"


def load_names(pairs: Iterable[LanguagePair]) -> None:
    """Load the pairs' data, so that no first text waits."""
    for pair in pairs:
        if language_of(pair.source) in word_lists.LISTED:
            word_lists.may_be_ordinary("", language_of(pair.source))
            place_names_of(pair.source)
            place_names_of(pair.target)


def lost_names(source: str, output: str, pair: LanguagePair) -> tuple[str, ...]:
    """Return the names and codes that the output lacks, each once."""
    if len(output) > MAX_CHARS:
        return ()
    candidates = candidates_in(source, pair.source)
    candidates = [candidate for candidate in candidates if not _stands_in(candidate.text, output)]
    names = OutputNames(output, pair) if candidates else None
    lost = [candidate.text for candidate in candidates if names is not None and not names.has(candidate)]
    if not lost and language_of(pair.source) in word_lists.CAPITALIZED_NOUNS:
        lost = list(mangled_names(source, output, pair))
    return tuple(dict.fromkeys(lost))


def _stands_in(name: str, output: str) -> bool:
    """Return fast whether an output surely has a name, as a word."""
    start = output.find(name)
    if start < 0:
        return False
    before, behind = output[start - 1 : start], output[start + len(name) : start + len(name) + 1]
    return not _is_latin(before) and not _is_latin(behind)


def _is_latin(char: str) -> bool:
    """Return whether a letter makes a longer word; other scripts' are particles."""
    return char < LATIN_END and char.isalnum()
