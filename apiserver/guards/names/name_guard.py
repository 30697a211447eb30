"""Name guard: finds the names of a source that an output lacks."""

from __future__ import annotations

from apiserver.guards.names.candidates import candidates_in
from apiserver.guards.names.output_names import OutputNames
from shared.languages import LanguagePair


def lost_names(source: str, output: str, pair: LanguagePair) -> tuple[str, ...]:
    """Return the names and codes that the output lacks, each once."""
    candidates = candidates_in(source, pair.source)
    candidates = [candidate for candidate in candidates if candidate.text not in output]
    if not candidates:
        return ()
    names = OutputNames(output, pair)
    return tuple(dict.fromkeys(candidate.text for candidate in candidates if not names.has(candidate)))
