"""Spelled numbers: without hyphens, soft hyphens and capitals."""

from __future__ import annotations

import pytest

from apiserver.guards.numbers.words.spellout import spell_numbers


@pytest.mark.parametrize(
    ("language", "words"), [("en", "twenty one"), ("de", "einundzwanzig"), ("fr", "vingt et un"), ("es", "veintiuno")]
)
def test_numbers_are_found_by_their_words(language: str, words: str) -> None:
    spelled = spell_numbers(language, range(100))
    assert spelled[words] == 21
    assert len(spelled) == 100
