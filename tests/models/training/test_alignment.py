"""Word alignment: which words of a pair translate each other."""

from __future__ import annotations

import pytest

from models.corpus import Pair
from models.training.alignment import AlignedPair, Lexicon, Link, words_in
from tests.models.samples import pairs, seeded


@pytest.fixture(scope="module")
def lexicon() -> Lexicon:
    return Lexicon.learn(pairs(300), seeded(0))


def linked(aligned: AlignedPair) -> dict[str, str]:
    return {aligned.english[one].text: aligned.other[two].text for one, two in aligned.links}


def test_lexicon_of_nothing_links_only_same_words() -> None:
    empty = Lexicon.learn([], seeded(0))
    assert linked(empty.align(Pair("Anna is 42.", "Anna ist 42.", "de"))) == {"Anna": "Anna", "42": "42"}
    assert Lexicon.learn([Pair("!", "?", "de")], seeded(0)).scores == {}
    assert empty.align(Pair("", "", "de")).links == []


def test_words_that_occur_together_are_linked(lexicon: Lexicon) -> None:
    aligned = lexicon.align(Pair("Today the dog sees Rotterdam.", "Der Hund sieht heute Rotterdam.", "de"))
    found = linked(aligned)
    assert found.items() >= {"Today": "heute", "dog": "Hund", "sees": "sieht", "Rotterdam": "Rotterdam"}.items()


def test_french_elisions_are_words() -> None:
    assert [word.text for word in words_in("L'eau d’ici coûte 1,50 euro.", "fr")] == [
        *("L'", "eau", "d’", "ici", "coûte", "1,50", "euro")
    ]
    assert [word.text for word in words_in("It isn't 9:30 漢字", "en")] == ["It", "isn't", "9:30", "漢", "字"]


def test_texts_are_cut_where_no_link_crosses(lexicon: Lexicon) -> None:
    aligned = lexicon.align(Pair("The dog sees a tree.", "Der Hund sieht ein Baum.", "de"))
    assert {(cut.english, cut.other) for cut in aligned.cuts()} == {(0, 0), (1, 1), (2, 2), (3, 3)}
    crossing = AlignedPair(aligned.pair, aligned.english, aligned.other, [Link(0, 4), Link(4, 0)])
    assert list(crossing.cuts()) == []


def test_texts_are_not_cut_before_unlinked_words() -> None:
    pair = Pair("Tom can't sing", "Tom kann nicht singen", "de")
    words, other = words_in(pair.english, "en"), words_in(pair.other, "de")
    aligned = AlignedPair(pair, words, other, [Link(0, 0), Link(1, 1), Link(2, 3)])
    assert list(aligned.cuts()) == [Link(0, 0)]


def test_spans_have_one_place_on_the_other_side() -> None:
    pair = Pair("a b c d", "w x y z", "de")
    links = [Link(0, 1), Link(1, 0), Link(2, 3)]
    aligned = AlignedPair(pair, words_in(pair.english, "en"), words_in(pair.other, "de"), links)
    assert aligned.span(0, 1) == (0, 1)
    assert aligned.span(2, 2) == (3, 3)
    assert aligned.span(1, 2) is None  # a stands between
    assert aligned.span(2, 3) is None  # d has no link
    assert aligned.span(3, 3) is None
