"""Tags, names and numbers of a pair, written as placeholders on both sides."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from models.corpus import Pair
from models.tokenizer import SPELLINGS
from models.training.alignment import AlignedPair, Lexicon, Link, words_in
from models.training.placeholders import Mark, Marks, Range, numbers_in, with_placeholders
from tests.models.samples import pairs, seeded

LEXICON = Lexicon.learn(pairs(300), seeded(0))
TEXTS = (
    *pairs(8),
    Pair("Anna Kowalski paid 1,250 euros on March 14.", "Am 14. März zahlte Anna Kowalski 1.250 Euro.", "de"),
    Pair("42", "42", "de"),
)
_SPELLING = re.compile("|".join(re.escape(spelling) for spelling in SPELLINGS))


def is_well_nested(text: str) -> bool:
    opened: list[str] = []
    for spelling in re.findall(r"</?g\d+>", text):
        if not spelling.startswith("</"):
            opened.append(spelling)
        elif not opened or opened.pop() != spelling.replace("/", ""):
            return False
    return not opened


@pytest.mark.parametrize("pair", TEXTS)
def test_both_sides_have_the_same_placeholders(pair: Pair) -> None:
    for seed in range(10):
        written = with_placeholders(LEXICON.align(pair), seeded(seed))
        english, other = (Counter(_SPELLING.findall(text)) for text in (written.english, written.other))
        assert english == other, seed
        assert max(english.values(), default=1) == 1, seed
        assert is_well_nested(written.english), seed
        assert is_well_nested(written.other), seed


def test_all_kinds_are_written() -> None:
    found = Counter(
        spelling[:2].strip("<")
        for pair in TEXTS
        for seed in range(40)
        for spelling in _SPELLING.findall(with_placeholders(LEXICON.align(pair), seeded(seed)).english)
    )
    assert found.keys() == {"g", "/", "x", "n", "q"}


def aligned(english: str, other: str, *links: tuple[int, int]) -> AlignedPair:
    pair = Pair(english, other, "de")
    return AlignedPair(pair, words_in(english, "en"), words_in(other, "de"), [Link(*link) for link in links])


def test_marks_are_written_around_and_instead_of_words() -> None:
    marks = Marks(aligned("Red Anna Kim came.", "Es kam, rote Anna Kim!", (0, 2), (1, 3), (2, 4), (3, 1)))
    marks.add(Range(0, 2), "<g{n}>", "</g{n}>")
    marks.add(Range(1, 2), "<n{n}/>")
    rng = seeded(0)  # numbers in order
    assert marks.write(rng)[:2] == ("<g1>Red <n2/></g1> came.", "Es kam, <g1>rote <n2/></g1>!")


def test_marks_that_cross_are_not_added() -> None:
    marks = Marks(aligned("a b c", "x y z", (0, 0), (1, 1), (2, 2)))
    marks.add(Range(0, 1), "<g{n}>", "</g{n}>")
    marks.add(Range(1, 2), "<g{n}>", "</g{n}>")
    marks.add(Range(0, 1), "<g{n}>", "</g{n}>")
    marks.add(Range(1, 1), "<n{n}/>")
    assert [mark.english for mark in marks.chosen] == [Range(0, 1), Range(1, 1)]


def test_marks_apart_on_one_side_only_do_not_fit() -> None:
    one = Mark(Range(0, 1), Range(0, 1), ("<g{n}>", "</g{n}>"))
    assert not one.fits(Mark(Range(2, 3), Range(1, 2), ("<g{n}>", "</g{n}>")))
    assert one.fits(Mark(Range(2, 3), Range(2, 2), ("<n{n}/>",)))
    assert one.fits(Mark(Range(0, 1), Range(0, 1), ("<n{n}/>",)))


def test_units_belong_to_their_numbers() -> None:
    pair = aligned("It is 5 km and 3 miles.", "Es sind 5 km und 3 Meilen.", *((index, index) for index in range(7)))
    assert numbers_in(pair) == [Range(2, 3), Range(5, 5)]


def test_at_most_twelve_placeholders_are_written() -> None:
    words = " ".join(f"Ab{index:c}" for index in range(97, 117))
    marks = Marks(aligned(words, words, *((index, index) for index in range(20))))
    for index in range(20):
        marks.add(Range(index, index), "<n{n}/>")
    assert len(_SPELLING.findall(marks.write(seeded(0)).english)) == 12
