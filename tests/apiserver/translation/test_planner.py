"""Plans: which segments a text has, and what stays between them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.formats.xml_tokens import XmlSyntaxError
from apiserver.protection.placeholders import Protection
from apiserver.segmentation.segmenter import Budget
from apiserver.translation.planner import Plan, TextStep, TranslateOptions, plan_text, untranslated_text
from shared.languages import LanguagePair
from shared.protocol.translate_request import SentenceSplitting, TextFormat
from tests.text_skeleton import skeleton

EN_DE = LanguagePair("en", "de")
TEXT, XML = TextFormat.TEXT, TextFormat.XML
BUDGET = Budget(max_tokens=40, max_sentences=1, count=len)
NOTHING = Protection.of((), {})


def plan_of(text: str, text_format: TextFormat = TextFormat.TEXT, protection: Protection = NOTHING) -> Plan:
    return plan_text(text, EN_DE, TranslateOptions(text_format, protection), BUDGET)


def segment_texts(plan: Plan) -> list[str]:
    """Return the segments' texts, a * for each placeholder."""
    steps = [plan.steps[index] for index in plan.segment_indices]
    return ["".join("*" if ord(c) >= 0xF0000 else c for c in step.text) for step in steps if isinstance(step, TextStep)]


@pytest.mark.parametrize(
    "text", ["", " ", "\n\n", "123", "5 km", "🎉🎉", "https://example.org/a?b=1", "%s {x} ${y}", "—"]
)
def test_text_without_words_has_no_segments(text: str) -> None:
    plan = plan_of(text)
    assert not plan.segment_indices
    assert untranslated_text(plan) == text


def test_lines_and_sentences_are_segments() -> None:
    text = "\tOne is here. Two is there.\r\n\r\n  - Three\n42\n"
    plan = plan_of(text)
    assert segment_texts(plan) == ["One is here.", "Two is there.", "Three"]
    assert untranslated_text(plan) == text


def test_placeholders_stay_inside_their_sentence() -> None:
    assert segment_texts(plan_of("Hello {name}, you owe 5 kg.")) == ["Hello *, you owe *."]


def test_amount_gets_the_notation_of_the_target() -> None:
    assert untranslated_text(plan_of("It costs €79.90, in cash.")) == "It costs €79,90, in cash."
    html = '<p title="€79.90">See <code>€79.90</code> or €79.90 here.</p>'
    assert untranslated_text(plan_of(html, TextFormat.HTML)) == html.replace("or €79.90", "or €79,90")


def test_tags_at_segment_ends_are_split_off() -> None:
    html = "<p><b>All of it.</b></p><p>Some <i>of</i> it.</p>"
    plan = plan_of(html, TextFormat.HTML)
    assert segment_texts(plan) == ["All of it.", "Some *of* it."]
    assert untranslated_text(plan) == html


def test_tag_around_two_sentences_is_split_off_both() -> None:
    html = "<p>One. <b>Two is bold. So is three.</b> Four.</p>"
    plan = plan_of(html, TextFormat.HTML)
    assert segment_texts(plan) == ["One.", "Two is bold.", "So is three.", "Four."]
    assert untranslated_text(plan) == html


def test_names_and_terms_are_placeholders() -> None:
    plan = plan_of("Pairway is at the station.", protection=Protection.of(["Pairway"], {"station": "Bahnhof"}))
    assert segment_texts(plan) == ["* is at the *."]
    assert untranslated_text(plan) == "Pairway is at the Bahnhof."


@given(
    st.lists(
        st.sampled_from(["a b. ", "<b>", "</b>", "{x}", "\n", "  ", "*", "`c`", "%s", "。"]) | st.text(max_size=6),
        max_size=12,
    ).map("".join),
    st.sampled_from(TextFormat),
)
def test_untranslated_steps_join_to_the_text(text: str, text_format: TextFormat) -> None:
    try:
        plan = plan_of(text, text_format)
    except XmlSyntaxError:
        assert text_format is TextFormat.XML
        return
    if text_format is TextFormat.TEXT:
        assert untranslated_text(plan) == text
    if not plan.segment_indices:
        assert untranslated_text(plan) == text
    for words in segment_texts(plan):
        assert words == words.strip()
        assert skeleton(words) == ["", ""]


@pytest.mark.parametrize(
    ("text", "text_format", "splitting", "segments"),
    [
        ("One is\nhere. Two.\n\nThree.", TEXT, "sentences", ["One is here.", "Two.", "Three."]),
        ("One is\nhere. Two.\n\nThree.", TEXT, "lines_and_sentences", ["One is", "here.", "Two.", "Three."]),
        (" One is\nhere. Two.\n\nThree.\n", TEXT, "none", ["One is here. Two. Three."]),
        ("<p>One is\nhere. Two.</p>\n<p>Three</p>", TextFormat.HTML, "none", ["One is here. Two.", "Three"]),
        ("<p>One is\nhere. Two.</p>", TextFormat.HTML, "sentences", ["One is here.", "Two."]),
        ("<p>One is\nhere. Two.</p>", TextFormat.HTML, "lines_and_sentences", ["One is", "here.", "Two."]),
        ("<p>One is\nhere. Two.</p>", XML, "sentences", ["One is here.", "Two."]),
        ("<p>One is\nhere. Two.</p>", XML, "lines_and_sentences", ["One is", "here.", "Two."]),
        ("<p>One is\nhere. Two.</p>", XML, "none", ["One is here. Two."]),
        ("# One is\nhere. Two.\n\nThree", TextFormat.MARKDOWN, "none", ["One is", "here. Two.", "Three"]),
    ],
)
def test_texts_are_cut_where_the_client_wants(
    text: str, text_format: TextFormat, splitting: str, segments: list[str]
) -> None:
    options = TranslateOptions(text_format, NOTHING, SentenceSplitting(splitting))
    plan = plan_text(text, EN_DE, options, BUDGET)
    assert segment_texts(plan) == segments
    assert not plan.is_cut


@pytest.mark.parametrize("text_format", [TextFormat.TEXT, TextFormat.HTML])
def test_text_over_the_budget_is_cut_against_the_wish(text_format: TextFormat) -> None:
    text = "One two three four.\nFive six seven eight. Nine ten."
    options = TranslateOptions(text_format, NOTHING, SentenceSplitting.NONE)
    plan = plan_text(text, EN_DE, options, BUDGET)
    assert plan.is_cut
    assert segment_texts(plan) == ["One two three four.", "Five six seven eight.", "Nine ten."]
    whole = plan_text(text, EN_DE, TranslateOptions(text_format, NOTHING), BUDGET)
    assert untranslated_text(plan) == untranslated_text(whole)
    assert not whole.is_cut
