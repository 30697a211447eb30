"""E's API server with random weights."""

from __future__ import annotations

import pytest

from apiserver.engine.interface import GenerationResult
from apiserver.guards.output_language import OutputLanguage
from benchmarks.origin.designs.pairway_server import IgnoredGuard, complete_generation
from benchmarks.origin.model import ANSWER_TOKENS
from shared.languages import LanguagePair

TOKENS = list(range(ANSWER_TOKENS))


def test_complete_generation_checks_the_length() -> None:
    assert complete_generation(GenerationResult("so", "length", TOKENS)).finish_reason == "stop"
    with pytest.raises(RuntimeError, match="made 2 tokens"):
        complete_generation(GenerationResult("so", "length", [1, 2]))


def test_ignored_guard_finds_nothing() -> None:
    output = GenerationResult("so so so so so so so so", "stop")
    assert IgnoredGuard(OutputLanguage()).find_issues("We saw it.", output, LanguagePair("en", "de")) == []
