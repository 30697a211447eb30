"""Spelling: names that are spelled otherwise, also in kana and Hangul, and other names."""

from __future__ import annotations

import pytest

from apiserver.guards.names.spelling import (
    MOST_WORDS,
    folded,
    has_other_marks,
    inflected_forms,
    may_be_among,
    sounds_alike,
    transliterated_in,
)
from shared.languages import LanguagePair


@pytest.mark.parametrize(
    ("word", "expected"), [("Zoë", "zoe"), ("Straße", "strasse"), ("ŁÓDŹ", "lodz"), ("Tom", "tom")]
)
def test_folded_words_have_no_case_and_marks(word: str, expected: str) -> None:
    assert folded(word) == expected


@pytest.mark.parametrize(
    ("name", "word", "expected"),
    [
        *[("anna", "annas", True), ("annas", "anna", True), ("london", "londres", False), ("tom", "toms", True)],
        *[("simon", "simone", False), ("simone", "simon", False), ("emmanuelle", "emmanuel", False)],
        *[("paul", "paula", False), ("daniel", "daniels", True), ("boston", "bostoner", True)],
        *[("tom", "tomatoes", False), ("anna", "anton", False), ("al", "all", False)],
    ],
)
def test_inflected_forms_differ_at_the_end(name: str, word: str, expected: bool) -> None:
    assert (word in inflected_forms(name, LanguagePair("en", "de"))) is expected


@pytest.mark.parametrize(
    ("pair", "name", "word", "expected"),
    [
        ("en-fr", "sigrun", "sigruner", False),
        ("de-en", "sigruner", "sigrun", True),
        ("fr-en", "sigruner", "sigrun", False),
        ("en-es", "tom", "toms", True),
        ("en-fi", "boston", "bostonen", True),  # its endings are unknown
    ],
)
def test_endings_are_those_of_the_language(pair: str, name: str, word: str, expected: bool) -> None:
    assert (word in inflected_forms(name, LanguagePair(*pair.split("-")))) is expected


@pytest.mark.parametrize(
    ("name", "word", "expected"),
    [
        *[
            ("elizabeth", "elisabeth", True),
            ("mary", "maria", True),
            ("anneliese", "analiese", False),
            ("alexander", "alexandre", True),
        ],
        *[
            ("apolonia", "apolonie", False),
            ("emily", "emilia", True),
            ("marie", "mary", True),
            ("helen", "helena", False),
        ],
        *[
            ("uelzen", "uelsen", False),
            ("zuzana", "ascheburg", False),
            ("anna", "namba", False),
            ("tom", "tim", False),
            ("robert", "hubert", False),
        ],
    ],
)
def test_same_sound_may_be_spelled_otherwise(name: str, word: str, expected: bool) -> None:
    assert sounds_alike(name, word) is expected


@pytest.mark.parametrize(
    ("name", "word", "expected"),
    [
        ("Dąbrowska", "Dăbrowska", True),
        ("Dąbrowska", "Dabrowska", False),
        ("Müller", "Müllers", False),
        ("Tom", "Tóm", False),
    ],
)
def test_other_marks_are_another_name(name: str, word: str, expected: bool) -> None:
    assert has_other_marks(name, word) is expected


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        *[("tom", "トムはいる", True), ("boston", "ボストンへ", True), ("washington", "ワシントン", True)],
        *[("jeffrey", "ジェフリーだ", True), ("robert", "マイケルだ", False), ("robert", "彼だ", False)],
        ("tanaka", "田中だ", True),  # a Japanese name: nobody can tell
    ],
)
def test_katakana(name: str, text: str, expected: bool) -> None:
    assert may_be_among(name, transliterated_in(text, {"Kana", "Hani"})) is expected


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [("tom", "톰은 집에", True), ("boston", "보스턴에서", True), ("robert", "마이클은", False), ("robert", "", False)],
)
def test_hangul(name: str, text: str, expected: bool) -> None:
    assert may_be_among(name, transliterated_in(text, {"Hang", "Hani"})) is expected


def test_many_words_are_not_compared() -> None:
    katakana = [f"マイケル{one}{other}" for one in "ラリルレロマミム" for other in "カキクケコタテトバ"]
    hangul = [f"마이클{one}{other}" for one in "마미무메모매머므" for other in "나니누네노너느내냐"]
    assert may_be_among("robert", transliterated_in(" ".join(katakana[: MOST_WORDS + 1]), {"Kana", "Hani"}))
    assert may_be_among("robert", transliterated_in(" ".join(hangul[: MOST_WORDS + 1]), {"Hang", "Hani"}))
    assert not may_be_among("robert", transliterated_in(" ".join(hangul[:MOST_WORDS] * 2), {"Hang", "Hani"}))


def test_long_names_are_not_compared() -> None:
    assert not may_be_among("rabadagamana" * 2, transliterated_in("마이클", {"Hang", "Hani"}))
    assert may_be_among("rabadagamana" * 3, transliterated_in("마이클", {"Hang", "Hani"}))
