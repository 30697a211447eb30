"""Substitution: how numbers are written for the target, and those that cannot be."""

from __future__ import annotations

import pytest

from apiserver.guards.numbers.substitution import Substitute, substitutes
from shared.languages import LanguagePair


@pytest.mark.parametrize(
    ("pair", "source", "written"),
    [
        ("en-de", "1,250", "1.250"),
        ("en-fr", "1,250,000", "1\u202f250\u202f000"),
        ("en-es", "1250", "1250"),
        ("en-de", "8:05", "8:05"),
        ("en-de", "2.5", "2,5"),
        ("de-en", "2,5", "2.5"),
        ("de-en", "2.5", "2.5"),
        ("en-ja", "2.5", "2.5"),
        ("en-de", "-2.5", "-2,5"),
        ("en-de", "-1,250", "-1.250"),
        ("en-tlh", "2.5", "2.5"),
        ("en-de", "three", "3"),
        ("en-de", "5.5 million", "5.500.000"),
        ("ja-en", "12.5万", "125,000"),
        ("de-ja", "zweitausend", "2,000"),
        ("en-tlh", "1,250", "1,250"),
        ("en-de", "79.90", "79,90"),
        ("en-de", "4.2.1", "4.2.1"),
        ("de-en", "1.250", "1,250"),
        ("en-de", "0151 2345678", "0151 2345678"),
        ("en-de", "+49 30 1234567", "+49 30 1234567"),
        ("en-de", "11 p.m.", "23:00"),
        ("en-fr", "8:30 pm", "20:30"),
        ("en-es", "12 a.m.", "0:00"),
        ("de-en", "11 Uhr nachts", "23:00"),
    ],
)
def test_number_is_written_for_the_target(pair: str, source: str, written: str) -> None:
    text = f"a {source} b"
    assert list(substitutes(text, LanguagePair(*pair.split("-")), {source})) == [
        Substitute(2, 2 + len(source), written)
    ]


def test_year_of_single_numerals_has_no_groups() -> None:
    pair = LanguagePair("zh", "en")
    assert list(substitutes("二〇〇四年", pair, {"二〇〇四"})) == [Substitute(0, 4, "2004")]
    assert list(substitutes("二千零四年", pair, {"二千零四"})) == [Substitute(0, 4, "2004")]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("the third door", "third"),
        ("21st", "21"),
        ("v2", "2"),
        ("at 9 h 30", "9 h 30"),
        ("one", "one"),
        ("from 9–11 p.m. on", "11 p.m."),
    ],
)
def test_number_that_needs_its_words_is_left_out(text: str, value: str) -> None:
    assert list(substitutes(text, LanguagePair("en", "de"), {value})) == []


def test_only_the_values_are_substituted() -> None:
    found = substitutes("3 of 5 or 5", LanguagePair("en", "de"), {"5"})
    assert [number.start for number in found] == [5, 10]


@pytest.mark.parametrize("text", ["with Python 3.11", "version 3.11"])
def test_version_keeps_its_point(text: str) -> None:
    (number,) = substitutes(text, LanguagePair("en", "de"), {"3.11"})
    assert number.target == "3.11"


def test_full_stop_behind_a_time_stays() -> None:
    (time,) = substitutes("We met at 11 p.m.", LanguagePair("en", "de"), {"11 p.m"})
    assert (time.end, time.target) == (16, "23:00")


def test_german_noun_is_no_version() -> None:
    (number,) = substitutes("Etwa 1.250 Leute", LanguagePair("de", "en"), {"1.250"})
    assert number.target == "1,250"
