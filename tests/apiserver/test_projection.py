"""Where tags go in a translation that was made without them."""

from __future__ import annotations

import pytest

from apiserver.formats.document import Placeholder, PlaceholderKind, placeholder_char
from apiserver.protection.tag_projection import MAX_TAGGED_SPANS, TaggedSpan, project_tags, remove_tags

A, B, C, D = (placeholder_char(index) for index in range(4))
MARKS = [
    Placeholder(PlaceholderKind.OPEN, "<a>", "<a>", 1),
    Placeholder(PlaceholderKind.CLOSE, "</a>", "</a>", 0),
    Placeholder(PlaceholderKind.OPEN, "<b>", "<b>", 3),
    Placeholder(PlaceholderKind.CLOSE, "</b>", "</b>", 2),
    Placeholder(PlaceholderKind.NAME, "%s", "%s", is_text=True),
    Placeholder(PlaceholderKind.ALONE, "<br>", "<br>"),
]
NAME, ALONE = placeholder_char(4), placeholder_char(5)
OUTER, INNER = TaggedSpan(A, B, "very important"), TaggedSpan(C, D, "important")


def test_tags_are_taken_out_and_their_words_kept() -> None:
    bare = remove_tags(f"This is {A}very {C}important{D}{B}, {NAME}.", MARKS)
    assert bare is not None
    assert bare.text == f"This is very important, {NAME}."
    assert [(each.opening, each.closing, each.text) for each in bare.spans] == [
        (A, B, "very important"),
        (C, D, "important"),
    ]
    assert bare.spans[0].position == pytest.approx(0.55, abs=0.1)


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
    assert remove_tags(text, MARKS) is None


def test_too_many_stretches_are_left_to_the_pieces() -> None:
    marks: list[Placeholder] = []
    text = ""
    for number in range(0, 2 * MAX_TAGGED_SPANS + 2, 2):
        marks += [
            Placeholder(PlaceholderKind.OPEN, "<b>", "<b>", number + 1),
            Placeholder(PlaceholderKind.CLOSE, "</b>", "</b>", number),
        ]
        text += f"{placeholder_char(number)}x{placeholder_char(number + 1)} "
    assert remove_tags(text, marks) is None


def test_tags_go_around_the_translation_of_their_words() -> None:
    outer, inner = TaggedSpan(A, B, "very important", 0.7), TaggedSpan(C, D, "important", 0.8)
    placed = project_tags("Das ist sehr wichtig.", [(outer, "Sehr wichtig."), (inner, "Wichtig!")])
    assert placed == f"Das ist {A}sehr {C}wichtig{D}{B}."


def test_the_same_stretch_twice_is_nested_as_it_was() -> None:
    outer, inner = TaggedSpan(A, B, "important", 0.7), TaggedSpan(C, D, "important", 0.7)
    placed = project_tags("Das ist wichtig.", [(outer, "wichtig"), (inner, "wichtig")])
    assert placed == f"Das ist {A}{C}wichtig{D}{B}."


@pytest.mark.parametrize(
    ("place_of_it", "expected"), [(0.1, f"{C}Wichtig{D} ist wichtig."), (0.8, f"Wichtig ist {C}wichtig{D}.")]
)
def test_of_two_places_the_one_nearer_to_the_sources_is_taken(place_of_it: float, expected: str) -> None:
    assert project_tags("Wichtig ist wichtig.", [(TaggedSpan(C, D, "important", place_of_it), "wichtig")]) == expected


def test_of_a_stretch_that_came_back_as_a_sentence_its_own_words_are_taken() -> None:
    stretch = TaggedSpan(A, B, "very important", 0.4)
    placed = project_tags("Das ist sehr wichtig für meinen Bruder.", [(stretch, "Das ist sehr wichtig.")])
    assert placed == f"Das ist {A}sehr wichtig{B} für meinen Bruder."


def test_a_name_is_found_though_its_own_translation_says_more() -> None:
    placed = project_tags("Ich sah Tom gestern.", [(TaggedSpan(A, B, "Tom", 0.4), "Tom hat einen Hut.")])
    assert placed == f"Ich sah {A}Tom{B} gestern."


def test_words_far_from_where_the_stretch_was_are_not_taken() -> None:
    whole = "Wichtig ist, dass wir alle heute noch nach Hause gehen und wichtig bleiben, mein Freund."
    assert project_tags(whole, [(TaggedSpan(A, B, "today", 0.35), "wichtig")]) is None


def test_neighbours_do_not_nest() -> None:
    placed = project_tags("一二", [(TaggedSpan(A, B, "one", 0.3), "一"), (TaggedSpan(C, D, "two", 0.7), "二")])
    assert placed == f"{A}一{B}{C}二{D}"


@pytest.mark.parametrize(
    ("whole", "inner"),
    [
        ("Das ist sehr wichtig.", "bedeutend"),
        ("Das ist unwichtig.", "wichtig"),
        ("Das ist sehr wichtig.", " . "),
    ],
)
def test_words_that_are_not_there_are_left_to_the_pieces(whole: str, inner: str) -> None:
    assert project_tags(whole, [(INNER, inner)]) is None


def test_stretches_that_overlap_in_the_translation_are_left_to_the_pieces() -> None:
    one, two = TaggedSpan(A, B, "one two", 0.3), TaggedSpan(C, D, "two three", 0.7)
    assert project_tags("eins zwei drei", [(one, "eins zwei"), (two, "zwei drei")]) is None
