"""Tag projection: tags around the words of a translation made without them."""

from __future__ import annotations

import pytest

from apiserver.formats.document import Placeholder, PlaceholderKind, placeholder_char
from apiserver.protection.tag_projection import MAX_TAGGED_SPANS, TaggedSpan, project_tags, remove_tags

A, B, C, D = (placeholder_char(index) for index in range(4))
PLACEHOLDERS = [
    Placeholder(PlaceholderKind.OPEN, "<a>", "<a>", 1),
    Placeholder(PlaceholderKind.CLOSE, "</a>", "</a>", 0),
    Placeholder(PlaceholderKind.OPEN, "<b>", "<b>", 3),
    Placeholder(PlaceholderKind.CLOSE, "</b>", "</b>", 2),
    Placeholder(PlaceholderKind.NAME, "%s", "%s", is_text=True),
    Placeholder(PlaceholderKind.ALONE, "<br>", "<br>"),
]
NAME, ALONE = placeholder_char(4), placeholder_char(5)
OUTER, INNER = TaggedSpan(A, B, "very important"), TaggedSpan(C, D, "important")


def test_tags_are_removed_and_their_words_kept() -> None:
    untagged = remove_tags(f"This is {A}very {C}important{D}{B}, {NAME}.", PLACEHOLDERS)
    assert untagged is not None
    assert untagged.text == f"This is very important, {NAME}."
    assert [(each.opening, each.closing, each.text) for each in untagged.spans] == [
        (A, B, "very important"),
        (C, D, "important"),
    ]
    assert untagged.spans[0].position == pytest.approx(0.55, abs=0.1)


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
def test_unsupported_tags_are_not_removed(text: str) -> None:
    assert remove_tags(text, PLACEHOLDERS) is None


def test_too_many_spans_are_not_removed() -> None:
    placeholders: list[Placeholder] = []
    text = ""
    for number in range(0, 2 * MAX_TAGGED_SPANS + 2, 2):
        placeholders += [
            Placeholder(PlaceholderKind.OPEN, "<b>", "<b>", number + 1),
            Placeholder(PlaceholderKind.CLOSE, "</b>", "</b>", number),
        ]
        text += f"{placeholder_char(number)}x{placeholder_char(number + 1)} "
    assert remove_tags(text, placeholders) is None


def test_tags_go_around_the_translation_of_their_words() -> None:
    outer, inner = TaggedSpan(A, B, "very important", 0.7), TaggedSpan(C, D, "important", 0.8)
    projected = project_tags("Das ist sehr wichtig.", [(outer, "Sehr wichtig."), (inner, "Wichtig!")])
    assert projected == f"Das ist {A}sehr {C}wichtig{D}{B}."


def test_equal_spans_keep_their_nesting() -> None:
    outer, inner = TaggedSpan(A, B, "important", 0.7), TaggedSpan(C, D, "important", 0.7)
    projected = project_tags("Das ist wichtig.", [(outer, "wichtig"), (inner, "wichtig")])
    assert projected == f"Das ist {A}{C}wichtig{D}{B}."


@pytest.mark.parametrize(
    ("position", "expected"), [(0.1, f"{C}Wichtig{D} ist wichtig."), (0.8, f"Wichtig ist {C}wichtig{D}.")]
)
def test_match_nearest_to_the_source_position_wins(position: float, expected: str) -> None:
    assert project_tags("Wichtig ist wichtig.", [(TaggedSpan(C, D, "important", position), "wichtig")]) == expected


def test_span_translated_as_a_sentence_matches_its_words() -> None:
    span = TaggedSpan(A, B, "very important", 0.4)
    projected = project_tags("Das ist sehr wichtig für meinen Bruder.", [(span, "Das ist sehr wichtig.")])
    assert projected == f"Das ist {A}sehr wichtig{B} für meinen Bruder."


def test_name_matches_though_its_translation_is_longer() -> None:
    projected = project_tags("Ich sah Tom gestern.", [(TaggedSpan(A, B, "Tom", 0.4), "Tom hat einen Hut.")])
    assert projected == f"Ich sah {A}Tom{B} gestern."


def test_distant_words_do_not_match() -> None:
    whole = "Wichtig ist, dass wir alle heute noch nach Hause gehen und wichtig bleiben, mein Freund."
    assert project_tags(whole, [(TaggedSpan(A, B, "today", 0.35), "wichtig")]) is None


def test_neighbouring_spans_do_not_nest() -> None:
    projected = project_tags("一二", [(TaggedSpan(A, B, "one", 0.3), "一"), (TaggedSpan(C, D, "two", 0.7), "二")])
    assert projected == f"{A}一{B}{C}二{D}"


@pytest.mark.parametrize(
    ("whole", "inner"),
    [
        ("Das ist sehr wichtig.", "bedeutend"),
        ("Das ist unwichtig.", "wichtig"),
        ("Das ist sehr wichtig.", " . "),
    ],
)
def test_missing_words_give_no_projection(whole: str, inner: str) -> None:
    assert project_tags(whole, [(INNER, inner)]) is None


def test_overlapping_spans_give_no_projection() -> None:
    one, two = TaggedSpan(A, B, "one two", 0.3), TaggedSpan(C, D, "two three", 0.7)
    assert project_tags("eins zwei drei", [(one, "eins zwei"), (two, "zwei drei")]) is None
