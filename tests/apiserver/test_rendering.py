"""How marks travel through a model and are found again."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apiserver.formats.document import Placeholder, PlaceholderKind, placeholder_char
from apiserver.prompts.family import PlaceholderStyle
from apiserver.protection.placeholder_encoding import (
    EncodedText,
    encode_in_style,
    encode_literally,
    is_well_nested,
    placeholders_in,
)

NUMBERED = PlaceholderStyle(open="<g{n}>", close="</g{n}>", alone="<x{n}/>")
WORDS = PlaceholderStyle(names=("Tom", "Boston"), quantities=("7",))
A, B, C, D = (placeholder_char(index) for index in range(4))


def name(source: str, target: str | None = None) -> Placeholder:
    return Placeholder(PlaceholderKind.NAME, source, target or source, is_text=True)


def pair(first: int, second: int, tag: str = "b") -> list[Placeholder]:
    return [
        Placeholder(PlaceholderKind.OPEN, f"<{tag}>", f"<{tag}>", second),
        Placeholder(PlaceholderKind.CLOSE, f"</{tag}>", f"</{tag}>", first),
    ]


def test_a_spelling_that_is_missing_or_doubled_is_no_answer() -> None:
    rendering = EncodedText("Hello Tom", (("Tom", A),))
    assert rendering.restore("Hallo") is None
    assert rendering.restore("Hallo Tom, Tom") is None
    assert rendering.restore("Hallo Tomas") is None
    assert rendering.restore("Hallo Tom!") == f"Hallo {A}!"


def test_marks_of_one_spelling_come_back_in_their_order() -> None:
    rendering = encode_literally(f"{A} of {B}", [name("%s"), name("%s")], terms_in_prompt=False)
    assert rendering is not None
    assert rendering.text == "%s of %s"
    assert rendering.restore("%s von %s") == f"{A} von {B}"
    assert rendering.restore("%s") is None


def test_a_long_spelling_is_not_taken_for_a_short_one_in_it() -> None:
    rendering = encode_literally(f"{A} {B}", [name("{a}"), name("{{a}}")], terms_in_prompt=False)
    assert rendering is not None
    assert rendering.restore("{{a}} {a}") == f"{B} {A}"


def test_a_number_is_not_found_inside_another() -> None:
    rendering = encode_in_style(
        f"It weighs {A}.", [Placeholder(PlaceholderKind.QUANTITY, "5 kg", "5 kg", is_text=True)], WORDS
    )
    assert rendering is not None
    assert rendering.text == "It weighs 7."
    assert rendering.restore("Es wiegt 17.") is None
    assert rendering.restore("Es wiegt 7.") == f"Es wiegt {A}."


def test_a_term_stands_in_the_target_language_unless_its_prompt_names_it() -> None:
    marks = [name("station", "Bahnhof")]
    plain = encode_literally(f"the {A}", marks, terms_in_prompt=False)
    told = encode_literally(f"the {A}", marks, terms_in_prompt=True)
    assert plain is not None
    assert told is not None
    assert (plain.text, told.text) == ("the Bahnhof", "the station")
    assert plain.restore("der Bahnhof") == told.restore("der Bahnhof") == f"der {A}"


def test_tags_never_travel_literally() -> None:
    assert encode_literally(f"{A}x{B}", pair(0, 1), terms_in_prompt=False) is None


def test_pairs_share_a_number_and_every_other_mark_has_its_own() -> None:
    marks = [*pair(0, 1), name("%s"), *pair(3, 4, "i")]
    text = f"{A}a{B} {C} {D}b{placeholder_char(4)}"
    rendering = encode_in_style(text, marks, NUMBERED)
    assert rendering is not None
    assert rendering.text == "<g1>a</g1> <x3/> <g4>b</g4>" or rendering.text.count("<g") == 2
    assert rendering.restore(rendering.text) == text


def test_half_a_pair_stands_alone() -> None:
    rendering = encode_in_style(f"{A}a", pair(0, 1), NUMBERED)
    assert rendering is not None
    assert rendering.text == "<x1/>a"


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        pytest.param(f"{A} Tom and Boston", [name("%s")], id="every word is taken by the text"),
        pytest.param(f"{A} {B} {C}", [name("a"), name("b"), name("c")], id="more marks than words"),
        pytest.param(f"{A}a{B}", pair(0, 1), id="no spelling for tags"),
    ],
)
def test_without_a_spelling_there_is_no_rendering(text: str, marks: list[Placeholder]) -> None:
    assert encode_in_style(text, marks, WORDS) is None


def test_a_spelling_that_the_text_itself_holds_is_not_used() -> None:
    assert encode_in_style(f"<x1/> {A}", [Placeholder(PlaceholderKind.ALONE, "<br>", "<br>")], NUMBERED) is None


def test_stretches_must_close_after_they_open_and_not_overlap() -> None:
    marks = [
        *pair(0, 1),
        Placeholder(PlaceholderKind.OPEN, "<i>", "<i>", 3),
        Placeholder(PlaceholderKind.CLOSE, "</i>", "</i>", 2),
    ]
    assert is_well_nested(f"{A}x{C}y{D}{B}", marks)
    assert is_well_nested(f"{C}y{D} {A}x{B}", marks)
    assert not is_well_nested(f"{B}x{A}", marks)
    assert not is_well_nested(f"{A}x{C}y{B}z{D}", marks)
    assert is_well_nested(f"x{B}", marks)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(["a", " ", "Tom", "%s", "{x}", A, B, "é", "7"]), max_size=12).map("".join))
def test_what_goes_out_comes_back_or_is_refused(text: str) -> None:
    once = "".join(char for place, char in enumerate(text) if char not in text[:place] or char not in {A, B})
    marks = [name("%d"), name("{y}")]
    for rendering in (encode_literally(once, marks, terms_in_prompt=False), encode_in_style(once, marks, WORDS)):
        if rendering is not None:
            assert not list(placeholders_in(rendering.text))
            assert rendering.restore(rendering.text) in {once, None}
