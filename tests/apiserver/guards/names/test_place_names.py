"""Place names: CLDR's translations."""

from __future__ import annotations

import pytest

from apiserver.guards.names.place_names import place_names_of, translated_words
from shared.languages import LanguagePair


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
