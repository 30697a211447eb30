"""Canaries: built-in sentences, and when a canary's translation is a fault."""

from __future__ import annotations

import pytest

from apiserver.catalog.canary_texts import CANARIES, canary_issue
from shared.languages import canonical_tag


def test_every_built_in_canary_is_a_sentence_under_a_canonical_tag() -> None:
    for tag, text in CANARIES.items():
        assert canonical_tag(tag) == tag
        assert text == text.strip() != ""


@pytest.mark.parametrize("output", ["", "  \n"])
def test_a_canary_that_comes_back_empty_is_a_fault(output: str) -> None:
    assert canary_issue("Where?", output) == "the canary's translation is empty"


@pytest.mark.parametrize("output", ["Where?", " where? ", "WHERE?\n"])
def test_a_canary_that_comes_back_untranslated_is_a_fault(output: str) -> None:
    assert canary_issue("Where?", output) == "the canary came back untranslated"


def test_a_canary_that_came_back_different_is_well() -> None:
    assert canary_issue("Where?", "Wo?") is None
