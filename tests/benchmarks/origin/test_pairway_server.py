"""E's API server with random weights."""

from __future__ import annotations

from apiserver.engine.interface import GenerationResult
from apiserver.guards.output_language import OutputLanguage
from benchmarks.origin.designs.pairway_server import IgnoredGuard
from shared.languages import LanguagePair


def test_ignored_guard_finds_nothing() -> None:
    for end in ("stop", "length"):
        output = GenerationResult("so so so so so so so so", end)
        assert IgnoredGuard(OutputLanguage()).find_issues("We saw it.", output, LanguagePair("en", "de")) == []
