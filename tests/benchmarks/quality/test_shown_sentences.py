"""Rows of documents are renewed; what people wrote beside them stays."""

from __future__ import annotations

from benchmarks.quality.shown_sentences import ShownAnswer, with_answers

NEW = ShownAnswer("card", "en-de", "Hello", "Hallo", ["x"], ["name-changed"], {"name-changed": ["x", "y"]})


def test_own_cell_of_a_row_stays() -> None:
    document = "| en-de | Hello | Hello | – | untranslated |\n| en-fr | Hello | Bonjour | – | right |"

    assert with_answers(document, [NEW]) == (
        "| en-de | Hello | Hallo | `name-changed` x, y | untranslated |\n| en-fr | Hello | Bonjour | – | right |"
    )


def test_what_was_lost_is_renewed_where_it_is_shown() -> None:
    faulty = ShownAnswer("faulty", "en-de", "Hello", None, [], ["output-repeats"], {})

    assert with_answers("| en-de | Hello | Hello | – | x |", [faulty]) == (
        "| en-de | Hello | no answer | `output-repeats` | – |"
    )


def test_row_without_an_own_cell_gets_none() -> None:
    assert with_answers("| en-de | Hello | Hello | – |", [NEW]) == "| en-de | Hello | Hallo | `name-changed` x, y |"


def test_other_lines_stay() -> None:
    assert with_answers("Hello\n| text |\n", [NEW]) == "Hello\n| text |\n"
