"""Scripts and lengths: which script letters are of, and how much a translation should say."""

from __future__ import annotations

import unicodedata
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.guards.length import length_band
from apiserver.guards.scripts import UNKNOWN, letters_weight, script_of, scripts_in, scripts_of, text_weight
from shared.languages import LanguagePair


@pytest.mark.parametrize(
    ("tag", "scripts"),
    [
        *(("en", {"Latn"}), ("ja", {"Kana", "Hani"}), ("zh", {"Hani"}), ("zh-TW", {"Hani"}), ("ko", {"Hang", "Hani"})),
        *(("sr", {"Cyrl"}), ("sr-Latn", {"Latn"}), ("ar", {"Arab"}), ("hi", {"Deva"}), ("th", {"Thai"})),
    ],
)
def test_languages_are_written_in_their_scripts(tag: str, scripts: set[str]) -> None:
    assert scripts_of(tag) == scripts


@pytest.mark.parametrize(
    ("char", "name"),
    [
        *(("LATIN", "Latn"), ("CYRILLIC", "Cyrl"), ("GREEK", "Grek"), ("ARABIC", "Arab"), ("HEBREW", "Hebr")),
        *(("HANGUL", "Hang"), ("KATAKANA", "Kana"), ("HIRAGANA", "Kana"), ("DEVANAGARI", "Deva")),
    ],
)
def test_letters_are_of_the_script_that_unicode_names_them_after(char: str, name: str) -> None:
    letters = [
        letter
        for code in range(0x41, 0xFFDD)
        if (letter := chr(code)).isalpha() and unicodedata.name(letter, "").startswith(f"{char} LETTER")
    ]
    found = {script_of(letter) for letter in letters}
    assert name in found
    assert found <= {name, UNKNOWN}


def test_letters_are_counted_by_script() -> None:
    assert scripts_in("Tomは5円, да!") == {"Latn": 3, "Kana": 1, "Hani": 1, "Cyrl": 2}


@given(st.text(st.characters(codec=None), max_size=30), st.text(st.characters(codec=None), max_size=30))
def test_weights_add_up(one: str, two: str) -> None:
    assert text_weight(one + two) == pytest.approx(text_weight(one) + text_weight(two))


@pytest.mark.parametrize("pair", [("en", "de"), ("de", "en"), ("en", "ja"), ("zh", "en"), ("ru", "ar"), ("en", "tlh")])
def test_a_band_grows_with_the_text_and_narrows_in_proportion(pair: tuple[str, str]) -> None:
    bands = [length_band(weight, LanguagePair(*pair)) for weight in (0.0, 1.0, 5.0, 50.0, 500.0, 5000.0)]
    assert bands[0].least <= 0 < bands[0].most
    assert bands[1].least <= 0
    assert all(one.most < two.most for one, two in pairwise(bands))
    assert 0 < bands[-2].least < 500 < bands[-2].most
    assert bands[-1].most / bands[-1].least < bands[3].most / max(bands[3].least, 1)


@given(st.text(st.characters(codec=None), max_size=30))
def test_a_weight_is_that_of_the_scripts_of_its_letters_and_digits(text: str) -> None:
    assert text_weight(text) == pytest.approx(
        letters_weight(Counter(script_of(char) for char in text if char.isalnum()))
    )
