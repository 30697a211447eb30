"""The language of an output, by its words and its scripts."""

from __future__ import annotations

import unicodedata
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.guards.output_language import OutputLanguage
from apiserver.guards.scripts import UNKNOWN, letters_weight, normalized, script_of, scripts_in, scripts_of, text_weight
from shared.languages import LanguagePair


@pytest.fixture(scope="module")
def languages() -> OutputLanguage:
    return OutputLanguage()


@pytest.mark.parametrize(
    ("pair", "labels"),
    [
        (("en", "de"), {"de"}),
        (("en", "pt-BR"), {"pt"}),
        (("en", "zh-Hant"), {"zh", "yue", "wuu"}),
        (("en", "no"), {"no", "nn", "da"}),
        (("da", "no"), {"no", "nn"}),
        (("en", "yi"), {"yi"}),
        (("en", "tlh"), set[str]()),
    ],
)
def test_labels_include_kin_but_never_the_source(
    languages: OutputLanguage, pair: tuple[str, str], labels: set[str]
) -> None:
    assert set(languages.labels(LanguagePair(*pair)).accepted) == labels


def test_kin_languages_are_known(languages: OutputLanguage) -> None:
    assert languages.labels(LanguagePair("da", "no")).are_kin
    assert languages.labels(LanguagePair("sr", "hr")).are_kin
    assert not languages.labels(LanguagePair("en", "de")).are_kin
    assert not languages.labels(LanguagePair("tlh", "en")).are_kin


def test_right_language_has_nearly_the_whole_share(languages: OutputLanguage) -> None:
    assert languages.shares("Der Ausschuss trifft sich morgen früh, um den Haushalt zu besprechen.")["de"] > 0.9


@given(st.text(st.characters(codec=None), max_size=300))
def test_any_text_has_shares(languages: OutputLanguage, text: str) -> None:
    assert sum(languages.shares(text).values()) < 1.01


@given(st.text(st.characters(codec=None), max_size=300))
def test_likeliest_label_has_the_largest_share(languages: OutputLanguage, text: str) -> None:
    shares = languages.shares(text)
    label, share = languages.likeliest(text)
    assert share == pytest.approx(max(shares.values(), default=0.0), abs=1e-4)
    assert not shares or shares[label] == pytest.approx(share, abs=1e-4)


@pytest.mark.parametrize(
    ("tag", "scripts"),
    [
        *(("en", {"Latn"}), ("ja", {"Kana", "Hani"}), ("zh", {"Hani"}), ("zh-TW", {"Hani"}), ("ko", {"Hang", "Hani"})),
        *(("sr", {"Cyrl"}), ("sr-Latn", {"Latn"}), ("ar", {"Arab"}), ("hi", {"Deva"}), ("th", {"Thai"})),
    ],
)
def test_scripts_of_a_language(tag: str, scripts: set[str]) -> None:
    assert scripts_of(tag) == scripts


@pytest.mark.parametrize(
    ("char", "name"),
    [
        *(("LATIN", "Latn"), ("CYRILLIC", "Cyrl"), ("GREEK", "Grek"), ("ARABIC", "Arab"), ("HEBREW", "Hebr")),
        *(("HANGUL", "Hang"), ("KATAKANA", "Kana"), ("HIRAGANA", "Kana"), ("DEVANAGARI", "Deva")),
    ],
)
def test_script_of_a_letter_agrees_with_unicode(char: str, name: str) -> None:
    letters = [
        letter
        for code in range(0x41, 0xFFDD)
        if (letter := chr(code)).isalpha() and unicodedata.name(letter, "").startswith(f"{char} LETTER")
    ]
    scripts = {script_of(letter) for letter in letters}
    assert name in scripts
    assert scripts <= {name, UNKNOWN}


def test_letters_are_counted_by_script() -> None:
    assert scripts_in("Tomは5円, да!") == {"Latn": 3, "Kana": 1, "Hani": 1, "Cyrl": 2}


@given(st.text(st.characters(codec=None), max_size=30), st.text(st.characters(codec=None), max_size=30))
def test_text_weights_add_up(one: str, two: str) -> None:
    assert text_weight(one + two) == pytest.approx(text_weight(one) + text_weight(two))


@given(st.text(st.characters(codec=None), max_size=30))
def test_text_weight_counts_letters_and_digits(text: str) -> None:
    assert text_weight(text) == pytest.approx(
        letters_weight(Counter(script_of(char) for char in text if char.isalnum()))
    )


ACUTE, GRAVE_BELOW = "\u0301", "\u0316"


@given(
    st.text(st.characters(codec=None, exclude_categories=["Mn", "Mc", "Me"]))
    | st.text(st.characters(codec=None, exclude_characters="\u034f"), max_size=29)
)
def test_normal_form_is_that_of_unicode(text: str) -> None:
    assert unicodedata.normalize("NFKC", normalized("NFKC", text).replace("\u034f", "")) == unicodedata.normalize(
        "NFKC", text
    )


@pytest.mark.parametrize("form", ["NFKC", "NFKD"])
def test_no_run_of_marks_is_long(form: str) -> None:
    text = "a" + ACUTE * 500 + f"{GRAVE_BELOW}\uff9e" * 500
    runs = normalized("NFKC" if form == "NFKC" else "NFKD", text).split("\u034f")
    assert max(map(len, runs)) <= 32
    assert "".join(runs).count(GRAVE_BELOW) == 500


def test_few_marks_are_sorted() -> None:
    assert normalized("NFKD", f"a{ACUTE}{GRAVE_BELOW}") == f"a{GRAVE_BELOW}{ACUTE}"
