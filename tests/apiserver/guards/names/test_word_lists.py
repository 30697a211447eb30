"""Word lists: ordinary words, their forms, and names among them."""

from __future__ import annotations

import pytest

from apiserver.guards.names.word_lists import LISTED, is_ordinary_among, is_ordinary_inside, may_be_ordinary


def test_listed_languages() -> None:
    assert {"en", "de", "fr", "es"} == LISTED


@pytest.mark.parametrize(
    ("word", "language", "expected"),
    [
        *[("Water", "en", True), ("Watering", "en", True), ("Zuzana", "en", False), ("Robert", "en", False)],
        *[("Dampfschifffahrt", "de", True), ("Zuzana", "de", False), ("Bonjour", "fr", True), ("Lunes", "es", True)],
        ("Acqua", "it", False),
    ],
)
def test_words_that_may_be_ordinary(word: str, language: str, expected: bool) -> None:
    assert may_be_ordinary(word, language) is expected


@pytest.mark.parametrize(("word", "expected"), [("Monday", True), ("Bill", False), ("Zuzana", False), ("German", True)])
def test_words_inside_a_sentence(word: str, expected: bool) -> None:
    assert is_ordinary_inside(word, "en") is expected


def test_compounds_count_in_joining_languages_only() -> None:
    assert is_ordinary_among("zugfahrt", {"fahrt"}, joins=True)
    assert not is_ordinary_among("zugfahrt", {"fahrt"}, joins=False)
