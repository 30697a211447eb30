"""Chat patterns: labels, preambles, turns and control tokens."""

from __future__ import annotations

import re

import pytest

from apiserver.guards import chat_patterns


@pytest.mark.parametrize("text", ["German: ", "Deutsch:", "de:", "**German**: ", "GERMAN (Germany):", "German："])
def test_label_matches_names_and_tags(text: str) -> None:
    match = chat_patterns.label_pattern("de").match(f"{text}Hallo")
    assert match is not None
    assert match.end() == len(text)


@pytest.mark.parametrize("text", ["Germany: x", "French: x", "German x"])
def test_label_matches_nothing_else(text: str) -> None:
    assert chat_patterns.label_pattern("de").match(text) is None


def test_next_example_needs_a_new_line() -> None:
    pattern = chat_patterns.next_example_pattern("en")
    assert pattern.search("Hallo\nEnglish: The dog sleeps.")
    assert not pattern.search("Hallo English: The dog sleeps.")


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (chat_patterns.CONTROL, "<|im_end|>"),
        (chat_patterns.CONTROL, "</s>"),
        (chat_patterns.PREAMBLE, "Sure! Here is the translation: "),
        (chat_patterns.PREAMBLE, "Hier ist die Übersetzung:"),
        (chat_patterns.NOTE, "Note:"),
        (chat_patterns.SPOKEN_TURN, "\nUser:"),
        (chat_patterns.THINKING_START, "<think>"),
        (chat_patterns.REFUSAL, "I cannot translate"),
    ],
)
def test_pattern_matches(pattern: re.Pattern[str], text: str) -> None:
    assert pattern.fullmatch(text)
