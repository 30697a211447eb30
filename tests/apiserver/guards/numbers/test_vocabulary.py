"""Vocabulary: words of every source, ordinals, compounds, roman numerals, months and units; files are checked."""

from __future__ import annotations

from decimal import Decimal

import pytest
from pydantic import ValidationError

from apiserver.guards.numbers.vocabulary import (
    EAST_ASIAN,
    SPACED,
    EastAsianWords,
    Role,
    SpacedWords,
    lexicon_of,
    month_names,
    read_words,
    roman_value,
    spell_numbers,
    unit_words,
)


@pytest.mark.parametrize("language", sorted(SPACED))
def test_each_language_has_words_of_every_role(language: str) -> None:
    lexicon = lexicon_of(language)
    assert lexicon is not None
    assert {entry.role for entry in lexicon.phrases.values()} == set(Role)
    assert len([entry for entry in lexicon.phrases.values() if entry.role is Role.UNIT]) >= 99


def test_unknown_language_has_no_lexicon() -> None:
    assert lexicon_of("tlh") is None


@pytest.mark.parametrize(
    ("word", "role", "value"),
    [
        ("dreihundert", Role.UNIT, 300),
        ("einhundertfünf", Role.UNIT, 105),
        ("zweitausendeinhundertdrei", Role.UNIT, 2103),
        ("hundertzwanzigste", Role.ORDINAL, 120),
        ("zehnjährig", Role.HINT, 0),
        ("zweieinhalb", Role.HINT, 0),
    ],
)
def test_compound_has_a_value_or_a_hint(word: str, role: Role, value: int) -> None:
    lexicon = lexicon_of("de")
    assert lexicon is not None
    entry = lexicon.compound(word)
    assert entry is not None
    assert (entry.role, entry.value) == (role, value)


@pytest.mark.parametrize("word", ["haus", "hundertwasser", "wunderhundert", "x" * 1000, "dreihundert" * 50])
def test_other_words_are_no_compounds(word: str) -> None:
    lexicon = lexicon_of("de")
    assert lexicon is not None
    entry = lexicon.compound(word)
    assert entry is None or entry.role is Role.HINT


def test_months_have_long_and_short_names() -> None:
    assert {("March", 3), ("Mar", 3)} <= set(month_names("en"))
    assert ("März", 3) in set(month_names("de"))


@pytest.mark.parametrize("tag", ["tlh", "x", "", "en-!"])
def test_unknown_language_has_no_months(tag: str) -> None:
    assert not list(month_names(tag))


def test_units_are_written_out() -> None:
    assert {"seconds", "inches", "square"} <= unit_words("en")
    assert "sekunden" in unit_words("de")
    assert "s" not in unit_words("en")
    assert not unit_words("tlh")


@pytest.mark.parametrize(
    ("language", "word", "value"),
    [
        *(("de", word, value) for word, value in [("dritten", 3), ("viertes", 4), ("zwanzigster", 20), ("achtem", 8)]),
        *(("fr", word, value) for word, value in [("quatrième", 4), ("cinquième", 5), ("vingt et unième", 21)]),
        *(("fr", word, value) for word, value in [("quatre vingtième", 80), ("dix neuvième", 19)]),
        *(("en", "twenty first", 21), ("es", "séptima", 7), ("fr", "première", 1)),
    ],
)
def test_ordinals_are_derived_or_listed(language: str, word: str, value: int) -> None:
    lexicon = lexicon_of(language)
    assert lexicon is not None
    assert (lexicon.phrases[word].role, lexicon.phrases[word].value) == (Role.ORDINAL, value)
    assert "unième" not in lexicon.phrases


@pytest.mark.parametrize(
    ("word", "value"), [("XIX", 19), ("XIXe", 19), ("IV", 4), ("XLVIII", 48), ("Ier", 1), ("CXC", 190)]
)
def test_numeral_has_a_value(word: str, value: int) -> None:
    assert roman_value(word) == value


@pytest.mark.parametrize("word", ["", "xix", "IIII", "VX", "Xavier", "MIX", "I" * 10_000])
def test_other_words_have_none(word: str) -> None:
    assert roman_value(word) == 0


@pytest.mark.parametrize(
    ("language", "words"), [("en", "twenty one"), ("de", "einundzwanzig"), ("fr", "vingt et un"), ("es", "veintiuno")]
)
def test_numbers_are_found_by_their_words(language: str, words: str) -> None:
    spelled = spell_numbers(language, range(100))
    assert spelled[words] == 21
    assert len(spelled) == 100


def test_files_are_those_of_the_known_languages() -> None:
    assert {*SPACED, *EAST_ASIAN} == {"de", "en", "es", "fr", "ja", "ko", "zh"}


def test_file_of_another_kind_is_refused() -> None:
    with pytest.raises(ValidationError):
        read_words("ja", SpacedWords)
    with pytest.raises(ValidationError):
        read_words("en", EastAsianWords)


def test_hints_have_single_and_joint_readings() -> None:
    assert read_words("ko", EastAsianWords).hints["서너"] == ((3, 4),)
    assert read_words("en", SpacedWords).hints["half"] == ((Decimal("0.5"),), (30,), (50,))
