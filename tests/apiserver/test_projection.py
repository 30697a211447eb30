"""Where tags go in a translation that was made without them."""

from __future__ import annotations

import pytest

from apiserver.document import Mark, MarkKind, mark_char
from apiserver.projection import MAX_STRETCHES, Stretch, place, untagged

A, B, C, D = (mark_char(index) for index in range(4))
MARKS = [
    Mark(MarkKind.OPEN, "<a>", "<a>", 1),
    Mark(MarkKind.CLOSE, "</a>", "</a>", 0),
    Mark(MarkKind.OPEN, "<b>", "<b>", 3),
    Mark(MarkKind.CLOSE, "</b>", "</b>", 2),
    Mark(MarkKind.NAME, "%s", "%s", words=True),
    Mark(MarkKind.ALONE, "<br>", "<br>"),
]
NAME, ALONE = mark_char(4), mark_char(5)
OUTER, INNER = Stretch(A, B, "very important"), Stretch(C, D, "important")


def test_tags_are_taken_out_and_their_words_kept() -> None:
    bare = untagged(f"This is {A}very {C}important{D}{B}, {NAME}.", MARKS)
    assert bare is not None
    assert bare.words == f"This is very important, {NAME}."
    assert bare.stretches == (OUTER, INNER)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("no tags", id="nothing to do"),
        pytest.param(f"a{ALONE}b {A}c{B}", id="a tag without words of its own"),
        pytest.param(f"half {A}a pair", id="half a pair"),
        pytest.param(f"{A} {B}", id="no words inside"),
        pytest.param(f"{A}x{C}y{B}z{D}", id="overlapping"),
    ],
)
def test_what_can_not_be_projected_is_left_to_the_pieces(text: str) -> None:
    assert untagged(text, MARKS) is None


def test_too_many_stretches_are_left_to_the_pieces() -> None:
    marks: list[Mark] = []
    text = ""
    for number in range(0, 2 * MAX_STRETCHES + 2, 2):
        marks += [Mark(MarkKind.OPEN, "<b>", "<b>", number + 1), Mark(MarkKind.CLOSE, "</b>", "</b>", number)]
        text += f"{mark_char(number)}x{mark_char(number + 1)} "
    assert untagged(text, marks) is None


def test_tags_go_around_the_translation_of_their_words() -> None:
    placed = place("Das ist sehr wichtig.", [(OUTER, "Sehr wichtig."), (INNER, "Wichtig!")])
    assert placed == f"Das ist {A}sehr {C}wichtig{D}{B}."


def test_the_same_stretch_twice_is_nested_as_it_was() -> None:
    placed = place("Das ist wichtig.", [(Stretch(A, B, "important"), "wichtig"), (INNER, "wichtig")])
    assert placed == f"Das ist {A}{C}wichtig{D}{B}."


def test_neighbours_do_not_nest() -> None:
    placed = place("一二", [(Stretch(A, B, "one"), "一"), (Stretch(C, D, "two"), "二")])
    assert placed == f"{A}一{B}{C}二{D}"


@pytest.mark.parametrize(
    ("whole", "inner"),
    [
        ("Das ist sehr wichtig.", "bedeutend"),
        ("Wichtig ist wichtig.", "wichtig"),
        ("Das ist unwichtig.", "wichtig"),
        ("Das ist sehr wichtig.", " . "),
    ],
)
def test_words_that_are_not_there_once_are_left_to_the_pieces(whole: str, inner: str) -> None:
    assert place(whole, [(INNER, inner)]) is None


def test_stretches_that_overlap_in_the_translation_are_left_to_the_pieces() -> None:
    assert place("eins zwei drei", [(OUTER, "eins zwei"), (INNER, "zwei drei")]) is None
