"""Placeholder encodings, and how placeholders are found again in an output."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.formats.document import Placeholder, PlaceholderKind, placeholder_char
from apiserver.prompts.builtin_prompts import FAMILIES
from apiserver.prompts.family import PlaceholderStyle
from apiserver.protection.placeholder_encoding import (
    MAX_LITERAL,
    EncodedText,
    count_spelled,
    encode_in_style,
    encode_literally,
    is_well_nested,
    placeholders_in,
)

DEMO = FAMILIES["demo-tags"].placeholder_style
NUMBERED = PlaceholderStyle(open="<g{n}>", close="</g{n}>", alone="<x{n}/>")
A, B, C, D = (placeholder_char(index) for index in range(4))


def name(source: str, target: str | None = None) -> Placeholder:
    return Placeholder(PlaceholderKind.NAME, source, target or source, is_text=True)


def pair(first: int, second: int, tag: str = "b") -> list[Placeholder]:
    return [
        Placeholder(PlaceholderKind.OPEN, f"<{tag}>", f"<{tag}>", second),
        Placeholder(PlaceholderKind.CLOSE, f"</{tag}>", f"</{tag}>", first),
    ]


def test_restore_needs_each_spelling_once() -> None:
    encoded = EncodedText("Hello Tom", (("Tom", A),))
    assert encoded.restore("Hallo") is None
    assert encoded.restore("Hallo Tom, Tom") is None
    assert encoded.restore("Hallo Tomas") is None
    assert encoded.restore("Hallo Tom!") == f"Hallo {A}!"


def test_equal_spellings_are_restored_in_order() -> None:
    encoded = encode_literally(f"{A} of {B}", [name("%s"), name("%s")], terms_in_prompt=False)
    assert encoded is not None
    assert encoded.text == "%s of %s"
    assert encoded.restore("%s von %s") == f"{A} von {B}"
    assert encoded.restore("%s") is None


def test_longer_spelling_is_matched_first() -> None:
    encoded = encode_literally(f"{A} {B}", [name("{a}"), name("{{a}}")], terms_in_prompt=False)
    assert encoded is not None
    assert encoded.restore("{{a}} {a}") == f"{B} {A}"


def test_term_is_encoded_in_the_target_language() -> None:
    placeholders = [name("station", "Bahnhof")]
    plain = encode_literally(f"the {A}", placeholders, terms_in_prompt=False)
    in_prompt = encode_literally(f"the {A}", placeholders, terms_in_prompt=True)
    assert plain is not None
    assert in_prompt is not None
    assert (plain.text, in_prompt.text) == ("the Bahnhof", "the station")
    assert plain.restore("der Bahnhof") == in_prompt.restore("der Bahnhof") == f"der {A}"


@pytest.mark.parametrize("terms_in_prompt", [True, False])
def test_quantity_is_encoded_in_the_notation_of_the_target(terms_in_prompt: bool) -> None:
    amount = Placeholder(PlaceholderKind.QUANTITY, "2.5 kg", "2,5 kg", is_text=True)
    encoded = encode_literally(f"the {A}", [amount], terms_in_prompt=terms_in_prompt)
    assert encoded is not None
    assert encoded.text == "the 2,5 kg"
    assert encoded.restore("die 2,5 kg") == f"die {A}"


def test_tags_are_never_encoded_literally() -> None:
    assert encode_literally(f"{A}x{B}", pair(0, 1), terms_in_prompt=False) is None


def test_paired_tags_share_a_number() -> None:
    placeholders = [*pair(0, 1), name("%s"), *pair(3, 4, "i")]
    text = f"{A}a{B} {C} {D}b{placeholder_char(4)}"
    encoded = encode_in_style(text, placeholders, NUMBERED)
    assert encoded is not None
    assert encoded.text == "<g1>a</g1> <x3/> <g4>b</g4>" or encoded.text.count("<g") == 2
    assert encoded.restore(encoded.text) == text


def test_unpaired_tag_is_encoded_alone() -> None:
    encoded = encode_in_style(f"{A}a", pair(0, 1), NUMBERED)
    assert encoded is not None
    assert encoded.text == "<x1/>a"


def test_spelling_in_the_text_gives_no_encoding() -> None:
    assert encode_in_style(f"<x1/> {A}", [Placeholder(PlaceholderKind.ALONE, "<br>", "<br>")], NUMBERED) is None


def test_nesting_needs_closed_pairs_without_overlap() -> None:
    placeholders = [
        *pair(0, 1),
        Placeholder(PlaceholderKind.OPEN, "<i>", "<i>", 3),
        Placeholder(PlaceholderKind.CLOSE, "</i>", "</i>", 2),
    ]
    assert is_well_nested(f"{A}x{C}y{D}{B}", placeholders)
    assert is_well_nested(f"{C}y{D} {A}x{B}", placeholders)
    assert not is_well_nested(f"{B}x{A}", placeholders)
    assert not is_well_nested(f"{A}x{C}y{B}z{D}", placeholders)
    assert is_well_nested(f"x{B}", placeholders)


def test_unpaired_tags_stay_outside_and_in_order() -> None:
    """Their partners are in other segments, so that a pair around one would overlap there."""
    placeholders = [
        Placeholder(PlaceholderKind.CLOSE, "</u>", "</u>", 5),
        Placeholder(PlaceholderKind.OPEN, "<b>", "<b>", 4),
        *pair(2, 3),
        Placeholder(PlaceholderKind.CLOSE, "</b>", "</b>", 1),
    ]
    assert is_well_nested(f"x{A}y{B}z{C}w{D}", placeholders)
    assert is_well_nested(f"{C}w{D}x{A}y{B}z", placeholders)
    assert not is_well_nested(f"{C}x{A}y{D}z{B}w", placeholders)
    assert not is_well_nested(f"x{B}y{A}z{C}w{D}", placeholders)


@given(st.lists(st.sampled_from(["a", " ", "<x1/>", "%s", "{x}", A, B, "é", "7"]), max_size=12).map("".join))
def test_encoded_text_is_restored_or_refused(text: str) -> None:
    once = "".join(char for index, char in enumerate(text) if char not in text[:index] or char not in {A, B})
    placeholders = [name("%d"), name("{y}")]
    for encoded in (
        encode_literally(once, placeholders, terms_in_prompt=False),
        encode_in_style(once, placeholders, NUMBERED),
    ):
        if encoded is not None:
            assert not list(placeholders_in(encoded.text))
            assert encoded.restore(encoded.text) in {once, None}


def test_names_and_quantities_may_have_tags_of_their_own() -> None:
    placeholders = [name("{x}"), Placeholder(PlaceholderKind.QUANTITY, "5 km", "5 km", is_text=True)]
    encoded = encode_in_style(f"{A} ran {B}", placeholders, FAMILIES["demo-tags"].placeholder_style)
    assert encoded is not None
    assert encoded.text == "<n1/> ran <q2/>"
    assert encoded.restore("<q2/> lief <n1/>") == f"{B} lief {A}"


def test_no_style_spells_more_placeholders_than_its_most() -> None:
    style = FAMILIES["demo-tags"].placeholder_style
    kinds = (PlaceholderKind.NAME, PlaceholderKind.QUANTITY, PlaceholderKind.ALONE)
    placeholders = [Placeholder(kinds[index % 3], "x", "x") for index in range(13)]
    chars = [placeholder_char(index) for index in range(13)]
    assert encode_in_style(" ".join(chars), placeholders, style) is None
    encoded = encode_in_style(" ".join(chars[:12]), placeholders, style)
    assert encoded is not None
    assert encoded.text.endswith("<n10/> <q11/> <x12/>")
    assert encode_in_style(" ".join(chars), placeholders, NUMBERED) is not None


def test_pairs_of_tags_count_once() -> None:
    style = FAMILIES["demo-tags"].placeholder_style
    placeholders = [tag for index in range(0, 26, 2) for tag in pair(index, index + 1)]
    pairs = [f"{placeholder_char(index)}a{placeholder_char(index + 1)}" for index in range(0, 26, 2)]
    assert count_spelled("".join(pairs), placeholders) == 13
    assert encode_in_style("".join(pairs), placeholders, style) is None
    encoded = encode_in_style("".join(pairs[:12]), placeholders, style)
    assert encoded is not None
    assert encoded.text.endswith("<g12>a</g12>")
    # Without its partner, a closing tag is a placeholder of its own.
    assert count_spelled(placeholder_char(1), placeholders) == 1


@pytest.mark.parametrize(
    ("output", "restored"),
    [("um 7 Uhr", True), ("um 7:00 Uhr", False), ("2.7 Uhr", False), ("um 7.", True), ("17", False)],
)
def test_number_is_not_found_inside_another(output: str, restored: bool) -> None:
    assert (EncodedText("at 7", (("7", A),)).restore(output) is not None) is restored


def test_letters_may_touch_a_number_only_as_in_the_source() -> None:
    amount = Placeholder(PlaceholderKind.QUANTITY, "130", "130", is_text=True)
    apart = encode_in_style(f"It is {A} over.", [amount], DEMO)
    touched = encode_in_style(f"in the {A}s", [amount], DEMO)
    assert apart is not None
    assert touched is not None
    assert apart.restore("Ist <q1/>er.") is None
    assert apart.restore("Ist (<q1/>).") == f"Ist ({A})."
    assert apart.restore("家<q1/>家") == f"家{A}家"
    assert touched.restore("<q1/>er") == f"{A}er"


def test_long_literals_are_written_as_tags() -> None:
    """A code that repeats itself begins at each of its places."""
    code = name("{a}" * MAX_LITERAL)
    assert encode_literally(f"{A} {B}", [name("{a}"), code], terms_in_prompt=False) is None
    assert encode_literally(A, [name("x" * MAX_LITERAL)], terms_in_prompt=False) is not None


def test_text_with_the_tags_of_others_is_encoded() -> None:
    """Only a number that the text has in a tag's place is taken."""
    encoded = encode_in_style(f"<x7/> <x <x2 {A} {B}", [name("%s"), name("%d")], NUMBERED)
    assert encoded is not None
    assert encoded.text == "<x7/> <x <x2 <x1/> <x2/>"


def test_numbers_inside_others_are_not_restored() -> None:
    encoded = EncodedText("", (("7", A), ("1.5", B)))
    assert encoded.restore("7 und 1.5, 7:00, 11.5, 1.55, 3.7") == f"{A} und {B}, 7:00, 11.5, 1.55, 3.7"
    assert encoded.restore("17 und 1.5") is None
