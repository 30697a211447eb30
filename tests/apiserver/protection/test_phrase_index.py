"""Phrase index: the phrases at one place of a text."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from apiserver.protection.phrase_index import PhraseIndex


def test_phrases_come_longest_first() -> None:
    index = PhraseIndex(["New", "New York", "New York City", "York", "N"])
    assert list(index.phrases_at("in New York Bay", 3)) == ["New York", "New", "N"]
    assert list(index.phrases_at("in New York Bay", 7)) == ["York"]
    assert list(index.phrases_at("in New York Bay", 0)) == []


@settings(max_examples=300, deadline=None)
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
