"""Word lists: ordinary words and names, and translated names of places."""

from __future__ import annotations

import pytest

from apiserver.guards.names.word_lists import (
    LISTED,
    NAME_WORDS,
    is_ordinary_among,
    is_ordinary_inside,
    may_be_ordinary,
    place_names_of,
    translated_words,
)
from shared.languages import LanguagePair


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


@pytest.mark.parametrize(
    ("word", "pair", "expected"),
    [
        ("germany", ("en", "fr"), "allemagne"),
        ("vienna", ("en", "de"), "wien"),
        ("allemand", ("fr", "de"), "deutsch"),
        ("germany", ("en", "zh-Hant"), "德國"),
    ],
)
def test_translated_places_and_languages(word: str, pair: tuple[str, str], expected: str) -> None:
    assert expected in translated_words(word, LanguagePair(*pair))


def test_unchanged_and_unknown_names_have_no_translations() -> None:
    assert translated_words("berlin", LanguagePair("en", "de")) == frozenset()
    assert translated_words("york", LanguagePair("en", "fr")) == frozenset()
    assert translated_words("germany", LanguagePair("en", "tlh")) == frozenset()


def test_a_name_that_keeps_the_word_gives_nothing() -> None:
    assert "nueva" not in translated_words("york", LanguagePair("en", "es"))
    assert "nueva" in translated_words("new", LanguagePair("en", "es"))


def test_languages_are_read_once() -> None:
    assert place_names_of("de") is place_names_of("de")
    assert not place_names_of("tlh").words


def test_words_around_names_are_of_the_listed_languages() -> None:
    assert NAME_WORDS.articles.keys() == NAME_WORDS.particles.keys() == LISTED
    assert {"Frau", "Mr"} <= NAME_WORDS.forms_of_address
