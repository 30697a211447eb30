"""Texts taken apart, before any engine."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apiserver.formats.document import Block, Placeholder, PlaceholderKind, placeholder_char
from apiserver.protection.placeholders import Protection
from apiserver.segmentation.segmenter import Budget
from apiserver.translation.planner import Plan, TextStep, TranslateOptions, plan_text, untranslated_text
from shared.languages import LanguagePair
from shared.protocol.messages import TextFormat
from tests.text_skeleton import skeleton

EN_DE = LanguagePair("en", "de")
BUDGET = Budget(max_tokens=40, max_sentences=1, count=len)
NOTHING = Protection.of((), {})


def planned(text: str, form: TextFormat = TextFormat.TEXT, protection: Protection = NOTHING) -> Plan:
    return plan_text(text, EN_DE, TranslateOptions(form, protection), BUDGET)


def asked(made: Plan) -> list[str]:
    """Return what the engine is asked for, a * for each mark."""
    steps = [made.steps[index] for index in made.segment_indices]
    return ["".join("*" if ord(c) >= 0xF0000 else c for c in step.text) for step in steps if isinstance(step, TextStep)]


@pytest.mark.parametrize(
    "text", ["", " ", "\n\n", "123", "5 km", "🎉🎉", "https://example.org/a?b=1", "%s {x} ${y}", "—"]
)
def test_a_text_with_nothing_to_translate_needs_no_engine_and_stays_as_it_is(text: str) -> None:
    made = planned(text)
    assert made.segment_indices == ()
    assert untranslated_text(made) == text


def test_lines_and_sentences_are_asked_for_apart_and_what_is_between_them_stays() -> None:
    text = "\tOne is here. Two is there.\r\n\r\n  - Three\n42\n"
    made = planned(text)
    assert asked(made) == ["One is here.", "Two is there.", "Three"]
    assert untranslated_text(made) == text


def test_placeholders_travel_inside_their_sentence() -> None:
    assert asked(planned("Hello {name}, you owe 5 kg.")) == ["Hello *, you owe *."]


def test_tags_at_a_segments_ends_are_lifted_off_it() -> None:
    html = "<p><b>All of it.</b></p><p>Some <i>of</i> it.</p>"
    made = planned(html, TextFormat.HTML)
    assert asked(made) == ["All of it.", "Some *of* it."]
    assert untranslated_text(made) == html


def test_a_tag_over_two_sentences_is_lifted_off_both() -> None:
    html = "<p>One. <b>Two is bold. So is three.</b> Four.</p>"
    made = planned(html, TextFormat.HTML)
    assert asked(made) == ["One.", "Two is bold.", "So is three.", "Four."]
    assert untranslated_text(made) == html


def test_protected_words_are_marks_and_terms_carry_their_translation() -> None:
    made = planned("Pairway is at the station.", protection=Protection.of(["Pairway"], {"station": "Bahnhof"}))
    assert asked(made) == ["* is at the *."]
    assert untranslated_text(made) == "Pairway is at the Bahnhof."


def test_words_are_escaped_and_syntax_is_not() -> None:
    marks = (
        Placeholder(PlaceholderKind.ALONE, "<br>", "<br>"),
        Placeholder(PlaceholderKind.NAME, "<x>", "<x>", is_text=True),
    )
    block = Block("", marks, "", escape=lambda text: text.replace("<", "&lt;"))
    assert block.write(f"a<b{placeholder_char(0)}{placeholder_char(1)}") == "a&lt;b<br>&lt;x>"


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.sampled_from(["a b. ", "<b>", "</b>", "{x}", "\n", "  ", "*", "`c`", "%s", "。"]) | st.text(max_size=6),
        max_size=12,
    ).map("".join),
    st.sampled_from(TextFormat),
)
def test_untranslated_the_steps_are_the_text(text: str, form: TextFormat) -> None:
    made = planned(text, form)
    if form is TextFormat.TEXT:
        assert untranslated_text(made) == text
    if not made.segment_indices:
        assert untranslated_text(made) == text
    for words in asked(made):
        assert words == words.strip()
        assert skeleton(words) == ["", ""]
