"""Canary texts: built-in sentences, and what is wrong with a canary's translation."""

from __future__ import annotations

import pytest

from apiserver.catalog.model_entry import CANARIES
from apiserver.hosting.canary_checks import canary_issue
from shared.languages import canonical_tag


def test_canaries_are_sentences_under_canonical_tags() -> None:
    for tag, text in CANARIES.items():
        assert canonical_tag(tag) == tag
        assert text == text.strip() != ""


@pytest.mark.parametrize("output", ["", "  \n"])
def test_empty_canary_translation_is_an_issue(output: str) -> None:
    assert canary_issue("Where?", output) == "the canary's translation is empty"


@pytest.mark.parametrize("output", ["Where?", " where? ", "WHERE?\n"])
def test_untranslated_canary_is_an_issue(output: str) -> None:
    assert canary_issue("Where?", output) == "the canary came back untranslated"


def test_translated_canary_is_no_issue() -> None:
    assert canary_issue("Where?", "Wo?") is None
