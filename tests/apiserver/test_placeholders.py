"""Placeholders: what must survive becomes marks, and the marks' sources give the text back."""

from __future__ import annotations

import time
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apiserver.formats.document import (
    MAX_PLACEHOLDERS,
    Block,
    Placeholder,
    PlaceholderKind,
    placeholder_char,
    placeholder_index,
)
from apiserver.protection.placeholders import Protection, count_literals, has_invented_placeholder, protect

NOTHING = Protection.of([], {})


def block(text: str, *marks: Placeholder) -> Block:
    return Block(text, marks, text)


def restored(made: Block) -> str:
    return "".join(
        char if (index := placeholder_index(char)) is None else made.placeholders[index].source for char in made.text
    )


def marked(text: str, protection: Protection = NOTHING) -> list[tuple[str, str, str]]:
    return [(mark.kind.value, mark.source, mark.target) for mark in protect(block(text), protection).placeholders]


def test_a_text_without_literals_is_the_block_itself() -> None:
    plain = block("Where is the station?")
    assert protect(plain, NOTHING) is plain


def test_literals_become_marks_of_their_kind() -> None:
    made = protect(block("Hello %s, write to a@b.de within 5 km for $3."), NOTHING)
    names = ["".join(char if placeholder_index(char) is None else "#" for char in made.text)]
    assert names == ["Hello #, write to # within # for #."]
    assert [(mark.kind, mark.source) for mark in made.placeholders] == [
        (PlaceholderKind.NAME, "%s"),
        (PlaceholderKind.NAME, "a@b.de"),
        (PlaceholderKind.QUANTITY, "5 km"),
        (PlaceholderKind.QUANTITY, "$3"),
    ]
    assert all(mark.is_text and mark.source == mark.target for mark in made.placeholders)


@pytest.mark.parametrize(
    ("text", "sources"),
    [
        ("%s%d ok", ["%s%d"]),
        ("{first} {last} is here", ["{first} {last}"]),
        ("{a}/{b}, {c}", ["{a}/{b}", "{c}"]),
        ("at {time}. {name} left", ["{time}", "{name}"]),
        ("{a} and {b}", ["{a}", "{b}"]),
        ("5 km {name}", ["5 km", "{name}"]),
        ("$5-$10", ["$5-$10"]),
        ("{a}\n{b}", ["{a}", "{b}"]),
        ("{a}  {b}", ["{a}", "{b}"]),
    ],
)
def test_neighbours_that_no_words_part_are_one_mark(text: str, sources: list[str]) -> None:
    assert [source for _, source, _ in marked(text)] == sources


def test_names_and_terms_become_marks() -> None:
    protection = Protection.of(["Pairway", "Tom"], {"invoice": "Rechnung", "invoice number": "Rechnungsnummer"})
    assert marked("Tom's Pairway invoice number, an Invoice, invoices", protection) == [
        ("name", "Tom", "Tom"),
        ("name", "Pairway", "Pairway"),
        ("name", "invoice number", "Rechnungsnummer"),
        ("name", "Invoice", "Rechnung"),
    ]
    assert protection.terms == {"invoice": "Rechnung", "invoice number": "Rechnungsnummer"}


@pytest.mark.parametrize(
    ("text", "names", "terms", "made"),
    [
        ("see https://example.com/shop", ["example"], {"shop": "Laden"}, [("https://example.com/shop",) * 2]),
        ("the 5 km run", ["5 km run"], {}, [("5 km run",) * 2]),
        ("the big 5 km", ["big 5"], {}, [("big 5 km",) * 2]),
        ("order {id} now", [], {"order {id}": "Bestellung {id}"}, [("order {id}", "Bestellung {id}")]),
        ("pay $5 fee", [], {"5 fee": "x"}, [("$5",) * 2]),
        ("unit 5 km", [], {"unit 5": "x"}, [("5 km",) * 2]),
    ],
)
def test_where_they_overlap_literals_grow_together_and_terms_give_way(
    text: str, names: list[str], terms: dict[str, str], made: list[tuple[str, str]]
) -> None:
    assert [(source, target) for _, source, target in marked(text, Protection.of(names, terms))] == made


def test_marks_that_a_block_has_keep_their_index() -> None:
    bold = (Placeholder(PlaceholderKind.OPEN, "<b>", "<b>", 1), Placeholder(PlaceholderKind.CLOSE, "</b>", "</b>", 0))
    made = protect(block(f"{placeholder_char(0)}Hi %s{placeholder_char(1)}!", *bold), NOTHING)
    assert made.text == f"{placeholder_char(0)}Hi {placeholder_char(2)}{placeholder_char(1)}!"
    assert made.placeholders == (*bold, Placeholder(PlaceholderKind.NAME, "%s", "%s", is_text=True))


def test_private_characters_that_are_no_marks_become_marks() -> None:
    made = protect(block(f"a{placeholder_char(7)}b{placeholder_char(0)}c"), NOTHING)
    assert made.text == f"a{placeholder_char(0)}b{placeholder_char(1)}c"
    assert restored(made) == f"a{placeholder_char(7)}b{placeholder_char(0)}c"


def test_a_block_never_has_more_marks_than_there_are_characters_for() -> None:
    full = tuple(Placeholder(PlaceholderKind.ALONE, "", "") for _ in range(MAX_PLACEHOLDERS - 1))
    made = protect(Block("{a} or {b}", full, ""), NOTHING)
    assert made.text == f"{placeholder_char(MAX_PLACEHOLDERS - 1)} or {{b}}"


PIECES = st.sampled_from(
    ["%s", "{a}", "<b>", "5 km", "$3", "a@b.de", "http://x.y/z", "Tom", "tom", "word", " ", "\n", "."]
)
TEXTS = st.lists(PIECES | st.text(st.characters(codec=None), max_size=4), max_size=12).map("".join)


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_the_marks_sources_give_the_text_back(text: str) -> None:
    made = protect(block(text), Protection.of(["Tom", "x"], {"word": "Wort", "w": ""}))
    assert restored(made) == text
    used = [index for char in made.text if (index := placeholder_index(char)) is not None]
    assert used == list(range(len(made.placeholders)))


@given(TEXTS)
def test_what_is_protected_once_has_no_literals_left(text: str) -> None:
    made = protect(block(text), NOTHING)
    outside = "".join("\n" if placeholder_index(char) is not None else char for char in made.text)
    assert sum(count_literals(outside).values()) <= sum(count_literals(text).values())
    assert protect(made, NOTHING).text == made.text or count_literals(outside)


def test_literals_are_counted() -> None:
    assert count_literals("%s and %s at 5 km, {a}") == Counter({"%s": 2, "5 km": 1, "{a}": 1})


@pytest.mark.parametrize(
    ("source", "output", "expected"),
    [
        ("Hello %s", "Hallo %s", False),
        ("Hello %s", "Hallo", False),
        ("Hello", "Hallo %s", True),
        ("Hello {a}", "Hallo {a} {a}", True),
        ("Hello", "<b>Hallo</b>", True),
        ("ten dollars", "10 $", False),
    ],
)
def test_a_placeholder_that_the_source_lacks_is_invented(source: str, output: str, expected: bool) -> None:
    assert has_invented_placeholder(source, output) is expected


def test_many_phrases_in_a_long_text_take_linear_time() -> None:
    names, terms = [f"Name {n}" for n in range(256)], {f"term {n}": f"Wort {n}" for n in range(256)}
    text = "Name 7 wrote term 9 about 5 km to {x}. " * 5000
    started = time.process_time()
    assert len(protect(block(text), Protection.of(names, terms)).placeholders) == 20_000
    assert time.process_time() - started < 10  # takes half a second
