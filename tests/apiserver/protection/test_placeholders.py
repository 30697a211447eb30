"""Placeholders: what must survive becomes one, and their sources restore the text."""

from __future__ import annotations

import time
from collections import Counter

import pytest
from hypothesis import given
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
from shared.languages import LanguagePair

EN_DE = LanguagePair("en", "de")
NOTHING = Protection.of([], {})


def block(text: str, *placeholders: Placeholder) -> Block:
    return Block(text, placeholders, text)


def restored(result: Block) -> str:
    return "".join(
        char if (index := placeholder_index(char)) is None else result.placeholders[index].source
        for char in result.text
    )


def protected(text: str, protection: Protection = NOTHING) -> list[tuple[str, str, str]]:
    return [
        (placeholder.kind.value, placeholder.source, placeholder.target)
        for placeholder in protect(block(text), protection, EN_DE).placeholders
    ]


def test_block_without_literals_is_unchanged() -> None:
    plain = block("Where is the station?")
    assert protect(plain, NOTHING, EN_DE) is plain


def test_literals_become_placeholders_of_their_kind() -> None:
    result = protect(block("Hello %s, write to a@b.de within 5 km for $3."), NOTHING, EN_DE)
    names = ["".join(char if placeholder_index(char) is None else "#" for char in result.text)]
    assert names == ["Hello #, write to # within # for #."]
    assert [(placeholder.kind, placeholder.source) for placeholder in result.placeholders] == [
        (PlaceholderKind.NAME, "%s"),
        (PlaceholderKind.NAME, "a@b.de"),
        (PlaceholderKind.QUANTITY, "5 km"),
        (PlaceholderKind.QUANTITY, "$3"),
    ]
    assert all(placeholder.is_text and placeholder.source == placeholder.target for placeholder in result.placeholders)


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
def test_neighbours_without_words_between_merge(text: str, sources: list[str]) -> None:
    assert [source for _, source, _ in protected(text)] == sources


@pytest.mark.parametrize(
    ("text", "source", "target"),
    [
        ("It costs €79.90 today.", "€79.90", "€79,90"),
        ("It is 3.7 MB large.", "3.7 MB", "3,7 MB"),
        ("from $1.50 to $2.50", "$1.50", "$1,50"),
        ("See file-3.7MB.zip now", "3.7MB", "3.7MB"),
        ("Open https://x.org/3.7MB now", "https://x.org/3.7MB", "https://x.org/3.7MB"),
        ("Use %.2f km", "%.2f", "%.2f"),
    ],
)
def test_quantities_get_the_notation_of_the_target(text: str, source: str, target: str) -> None:
    assert (source, target) in [(each, written) for _, each, written in protected(text)]


def test_names_and_terms_become_placeholders() -> None:
    protection = Protection.of(["Pairway", "Tom"], {"invoice": "Rechnung", "invoice number": "Rechnungsnummer"})
    assert protected("Tom's Pairway invoice number, an Invoice, invoices", protection) == [
        ("name", "Tom", "Tom"),
        ("name", "Pairway", "Pairway"),
        ("name", "invoice number", "Rechnungsnummer"),
        ("name", "Invoice", "Rechnung"),
    ]
    assert protection.terms == {"invoice": "Rechnung", "invoice number": "Rechnungsnummer"}


@pytest.mark.parametrize(
    ("text", "names", "terms", "result"),
    [
        ("see https://example.com/shop", ["example"], {"shop": "Laden"}, [("https://example.com/shop",) * 2]),
        ("the 5 km run", ["5 km run"], {}, [("5 km run",) * 2]),
        ("the big 5 km", ["big 5"], {}, [("big 5 km",) * 2]),
        ("order {id} now", [], {"order {id}": "Bestellung {id}"}, [("order {id}", "Bestellung {id}")]),
        ("pay $5 fee", [], {"5 fee": "x"}, [("$5",) * 2]),
        ("unit 5 km", [], {"unit 5": "x"}, [("5 km",) * 2]),
    ],
)
def test_overlapping_literals_merge_and_terms_yield(
    text: str, names: list[str], terms: dict[str, str], result: list[tuple[str, str]]
) -> None:
    assert [(source, target) for _, source, target in protected(text, Protection.of(names, terms))] == result


def test_existing_placeholders_keep_their_index() -> None:
    bold = (Placeholder(PlaceholderKind.OPEN, "<b>", "<b>", 1), Placeholder(PlaceholderKind.CLOSE, "</b>", "</b>", 0))
    result = protect(block(f"{placeholder_char(0)}Hi %s{placeholder_char(1)}!", *bold), NOTHING, EN_DE)
    assert result.text == f"{placeholder_char(0)}Hi {placeholder_char(2)}{placeholder_char(1)}!"
    assert result.placeholders == (*bold, Placeholder(PlaceholderKind.NAME, "%s", "%s", is_text=True))


def test_private_characters_become_placeholders() -> None:
    result = protect(block(f"a{placeholder_char(7)}b{placeholder_char(0)}c"), NOTHING, EN_DE)
    assert result.text == f"a{placeholder_char(0)}b{placeholder_char(1)}c"
    assert restored(result) == f"a{placeholder_char(7)}b{placeholder_char(0)}c"


def test_block_never_exceeds_max_placeholders() -> None:
    full = tuple(Placeholder(PlaceholderKind.ALONE, "", "") for _ in range(MAX_PLACEHOLDERS - 1))
    result = protect(Block("{a} or {b}", full, ""), NOTHING, EN_DE)
    assert result.text == f"{placeholder_char(MAX_PLACEHOLDERS - 1)} or {{b}}"


PARTS = st.sampled_from(
    ["%s", "{a}", "<b>", "5 km", "$3", "a@b.de", "http://x.y/z", "Tom", "tom", "word", " ", "\n", "."]
)
TEXTS = st.lists(PARTS | st.text(st.characters(codec=None), max_size=4), max_size=12).map("".join)


@given(TEXTS)
def test_placeholder_sources_restore_the_text(text: str) -> None:
    result = protect(block(text), Protection.of(["Tom", "x"], {"word": "Wort", "w": ""}), EN_DE)
    assert restored(result) == text
    used = [index for char in result.text if (index := placeholder_index(char)) is not None]
    assert used == list(range(len(result.placeholders)))


@given(TEXTS)
def test_protecting_twice_changes_nothing(text: str) -> None:
    result = protect(block(text), NOTHING, EN_DE)
    outside = "".join("\n" if placeholder_index(char) is not None else char for char in result.text)
    assert sum(count_literals(outside, EN_DE).values()) <= sum(count_literals(text, EN_DE).values())
    assert protect(result, NOTHING, EN_DE).text == result.text or count_literals(outside, EN_DE)


def test_literals_are_counted() -> None:
    assert count_literals("%s and %s at 5 km, {a}", EN_DE) == Counter({"%s": 2, "5 km": 1, "{a}": 1})
    assert count_literals("1.5 km", EN_DE) == Counter({"1,5 km": 1})


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
def test_placeholder_not_in_the_source_is_invented(source: str, output: str, expected: bool) -> None:
    assert has_invented_placeholder(source, output) is expected


def test_many_entries_in_a_long_text_take_linear_time() -> None:
    names, terms = [f"Name {n}" for n in range(256)], {f"term {n}": f"Wort {n}" for n in range(256)}
    text = "Name 7 wrote term 9 about 5 km to {x}. " * 5000
    started = time.process_time()
    assert len(protect(block(text), Protection.of(names, terms), EN_DE).placeholders) == 20_000
    assert time.process_time() - started < 10  # takes half a second
