"""The engine interface: results of generation."""

from __future__ import annotations

from apiserver.engine.interface import GenerationResult


def test_with_text_replaces_the_text_alone() -> None:
    result = GenerationResult("x ", "stop", (1, 2), repeats=True, leaked_controls=True)
    assert result.with_text("x") == GenerationResult("x", "stop", (1, 2), repeats=True, leaked_controls=True)


def test_with_equal_text_is_the_same_result() -> None:
    result = GenerationResult("x", "stop")
    assert result.with_text("x") is result
