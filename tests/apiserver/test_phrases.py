"""Phrases: names and terms are found where they are whole words, the longest first."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.protection.glossary import GlossaryMatcher


def found(text: str, names: list[str], terms: dict[str, str] | None = None) -> list[tuple[str, str | None]]:
    return [(text[start:end], target) for start, end, target in GlossaryMatcher.of(names, terms or {}).find(text)]


@pytest.mark.parametrize("text", ["Pairways", "pairway", "unPairway", "Pairway2", "Pairwaý", "PAIRWAY", "Pair way"])
def test_a_name_is_not_found_in_another_word_or_case(text: str) -> None:
    assert found(text, ["Pairway"]) == []


@pytest.mark.parametrize(
    "text", ["Pairway", "Pairway's", "(Pairway)", "Pairwayを使う", "Pairway는", "使Pairway。", "my-Pairway"]
)
def test_a_name_is_found_as_a_whole_word(text: str) -> None:
    assert found(text, ["Pairway"]) == [("Pairway", None)]


def test_scripts_without_spaces_have_no_words_edges() -> None:
    assert found("東京都庁で", ["都庁"]) == [("都庁", None)]
    assert found("펭귄은", [], {"펭귄": "penguin"}) == [("펭귄", "penguin")]
    assert found("หนังสือเล่มนี้", ["เล่ม"]) == [("เล่ม", None)]


def test_a_mark_belongs_to_its_letter() -> None:
    assert found("हिन्दी", ["हिन्द"]) == []
    assert found("cafe\u0301", ["cafe"]) == []


@pytest.mark.parametrize("written", ["invoice", "Invoice", "INVOICE"])
def test_a_term_is_found_in_any_case(written: str) -> None:
    assert found(f"The {written}.", [], {"invoice": "Rechnung"}) == [(written, "Rechnung")]
    assert found(f"The {written}s.", [], {"invoice": "Rechnung"}) == []


def test_the_longest_phrase_wins_if_it_is_whole() -> None:
    names = ["New", "New York", "New York Times"]
    assert found("New York Times, New Yorker", names) == [("New York Times", None), ("New", None)]


def test_the_spelling_decides_between_phrases_that_differ_in_case() -> None:
    terms = {"US": "Vereinigte Staaten", "us": "uns"}
    assert found("us in the US, Us", [], terms) == [("us", "uns"), ("US", terms["US"]), ("Us", terms["US"])]
    assert found("May may", ["May"], {"may": "dürfen"}) == [("May", None), ("may", "dürfen")]


def test_letters_that_grow_in_lower_case_do_not_shift_what_follows() -> None:
    assert found("İİİ Invoice", [], {"invoice": "fatura"}) == [("Invoice", "fatura")]


def test_a_phrase_that_holds_a_marks_character_is_never_found() -> None:
    assert found("\U000f0000", ["\U000f0000"]) == []


@given(
    st.text(st.sampled_from("ab AB.あİ\u0301\ud800"), max_size=30),
    st.lists(st.text(st.sampled_from("ab AB.あİ\ud800"), min_size=1, max_size=4), max_size=8),
)
def test_what_is_found_stands_there_and_does_not_overlap(text: str, phrases: list[str]) -> None:
    names, terms = phrases[::2], dict.fromkeys(phrases[1::2], "x")
    done = 0
    for start, end, target in GlossaryMatcher.of(names, terms).find(text):
        assert done <= start < end <= len(text)
        if target is None:
            assert text[start:end] in names
        else:
            assert text[start:end].lower() in {term.lower() for term in terms}
        done = end
