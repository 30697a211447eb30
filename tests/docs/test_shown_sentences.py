"""The sentences that documents show are those of the committed result, and that is of the committed models."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.quality.shown_sentences import (
    DOCUMENTS,
    ShownAnswer,
    read_result,
    read_shown,
    weights_digest,
    with_answers,
)
from tests.support.processes import ROOT

AGAIN = "run `make shown-sentences`"


def answers_of(document: str) -> list[ShownAnswer]:
    """Return the committed answers for a document."""
    return [answer for answer in read_result()[1] if answer.document == document]


def test_result_is_of_the_committed_models() -> None:
    digests = read_result()[0]

    assert digests == {name: weights_digest(ROOT / "models" / name) for name in digests}, AGAIN


def test_result_has_every_shown_sentence() -> None:
    shown = [(each.document, each.direction, each.sentence.text) for each in read_shown()]

    assert [(each.document, each.direction, each.text) for each in read_result()[1]] == shown, AGAIN


@pytest.mark.parametrize(("document", "file"), DOCUMENTS.items())
def test_documents_show_what_really_came_out(document: str, file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    missing = [answer.shown() for answer in answers_of(document) if answer.shown() not in text]

    assert not missing, f"not in {file}: {AGAIN}\n" + "\n".join(missing)
    assert with_answers(text, answers_of(document)) == text, AGAIN
