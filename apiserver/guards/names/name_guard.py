"""Name guard: finds the names of a source that an output lacks."""

from __future__ import annotations

from collections.abc import Iterable

from apiserver.guards.names import word_lists
from apiserver.guards.names.candidates import MAX_CHARS, candidates_in
from apiserver.guards.names.output_names import OutputNames
from apiserver.guards.names.place_names import place_names_of
from shared.languages import LanguagePair, language_of


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
    candidates = [candidate for candidate in candidates if candidate.text not in output]
    if not candidates:
        return ()
    names = OutputNames(output, pair)
    return tuple(dict.fromkeys(candidate.text for candidate in candidates if not names.has(candidate)))
