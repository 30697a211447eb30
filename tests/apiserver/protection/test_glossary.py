"""Names and terms of a client in a text, and the index that finds them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.protection.glossary import GlossaryMatcher, PhraseIndex


def matches(text: str, names: list[str], terms: dict[str, str] | None = None) -> list[tuple[str, str | None]]:
    return [(text[start:end], target) for start, end, target in GlossaryMatcher.of(names, terms or {}).find(text)]


@pytest.mark.parametrize("text", ["Pairways", "pairway", "unPairway", "Pairway2", "Pairwaý", "PAIRWAY", "Pair way"])
def test_name_does_not_match_in_another_word_or_case(text: str) -> None:
    assert matches(text, ["Pairway"]) == []


@pytest.mark.parametrize(
    "text", ["Pairway", "Pairway's", "(Pairway)", "Pairwayを使う", "Pairway는", "使Pairway。", "my-Pairway"]
)
def test_name_matches_as_a_whole_word(text: str) -> None:
    assert matches(text, ["Pairway"]) == [("Pairway", None)]


def test_entries_match_anywhere_in_unspaced_scripts() -> None:
    assert matches("東京都庁で", ["都庁"]) == [("都庁", None)]
    assert matches("펭귄은", [], {"펭귄": "penguin"}) == [("펭귄", "penguin")]
    assert matches("หนังสือเล่มนี้", ["เล่ม"]) == [("เล่ม", None)]


def test_combining_mark_belongs_to_its_letter() -> None:
    assert matches("हिन्दी", ["हिन्द"]) == []
    assert matches("cafe\u0301", ["cafe"]) == []


@pytest.mark.parametrize("written", ["invoice", "Invoice", "INVOICE"])
def test_term_matches_in_any_case(written: str) -> None:
    assert matches(f"The {written}.", [], {"invoice": "Rechnung"}) == [(written, "Rechnung")]
    assert matches(f"The {written}s.", [], {"invoice": "Rechnung"}) == []


def test_longest_entry_matches() -> None:
    names = ["New", "New York", "New York Times"]
    assert matches("New York Times, New Yorker", names) == [("New York Times", None), ("New", None)]


def test_exact_case_is_preferred() -> None:
    terms = {"US": "Vereinigte Staaten", "us": "uns"}
    assert matches("us in the US, Us", [], terms) == [("us", "uns"), ("US", terms["US"]), ("Us", terms["US"])]
    assert matches("May may", ["May"], {"may": "dürfen"}) == [("May", None), ("may", "dürfen")]


def test_longer_lower_case_does_not_shift_offsets() -> None:
    assert matches("İİİ Invoice", [], {"invoice": "fatura"}) == [("Invoice", "fatura")]


def test_entry_with_private_character_never_matches() -> None:
    assert matches("\U000f0000", ["\U000f0000"]) == []


@given(
    st.text(st.sampled_from("ab AB.あİ\u0301\ud800"), max_size=30),
    st.lists(st.text(st.sampled_from("ab AB.あİ\ud800"), min_size=1, max_size=4), max_size=8),
)
def test_matches_are_in_the_text_without_overlaps(text: str, entries: list[str]) -> None:
    names, terms = entries[::2], dict.fromkeys(entries[1::2], "x")
    position = 0
    for start, end, target in GlossaryMatcher.of(names, terms).find(text):
        assert position <= start < end <= len(text)
        if target is None:
            assert text[start:end] in names
        else:
            assert text[start:end].lower() in {term.lower() for term in terms}
        position = end


def test_phrases_come_longest_first() -> None:
    index = PhraseIndex(["New", "New York", "New York City", "York", "N"])
    assert list(index.phrases_at("in New York Bay", 3)) == ["New York", "New", "N"]
    assert list(index.phrases_at("in New York Bay", 7)) == ["York"]
    assert list(index.phrases_at("in New York Bay", 0)) == []


@given(st.sets(st.text("ab{", min_size=1, max_size=4), max_size=9), st.text("ab{", max_size=12))
def test_every_phrase_of_a_text_is_found(phrases: set[str], text: str) -> None:
    index = PhraseIndex(phrases)
    places = set(index.places(text))
    for place in range(len(text)):
        expected = sorted((phrase for phrase in phrases if text.startswith(phrase, place)), key=len, reverse=True)
        assert list(index.phrases_at(text, place)) == expected
        assert place in places or not expected


class CountedText(str):
    """A text that counts its comparisons with phrases."""

    __slots__ = ("compared",)

    def __init__(self, text: str) -> None:
        del text
        self.compared = 0

    def startswith(self, *arguments: object) -> bool:
        self.compared += 1
        return super().startswith(*arguments)  # pyright: ignore[reportArgumentType, reportCallIssue]


def test_many_phrases_cost_no_more_comparisons() -> None:
    """A thousand prices in a text are compared as often as ten."""
    text = CountedText("price " * 100 + "$17.99 " * 100)
    for count in (10, 1000):
        index, text.compared = PhraseIndex(f"${number}.99" for number in range(count)), 0
        for place in index.places(text):
            list(index.phrases_at(text, place))
        assert text.compared <= 200


def test_phrases_with_one_beginning_cost_few_comparisons() -> None:
    """200 names that begin alike once took 0.2 s of 8,000 characters, none of which was theirs."""
    text = CountedText("l'a" * 100)
    index = PhraseIndex("a" * length for length in range(1, 201))
    for place in index.places(text):
        list(index.phrases_at(text, place))
    assert text.compared <= 1000
