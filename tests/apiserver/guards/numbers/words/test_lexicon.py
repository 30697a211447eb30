"""Lexicon: words of every source, and German's compounds."""

from __future__ import annotations

import pytest

from apiserver.guards.numbers.words.lexicon import Role, lexicon_of
from apiserver.guards.numbers.words.vocabularies import VOCABULARIES


@pytest.mark.parametrize("language", VOCABULARIES)
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
