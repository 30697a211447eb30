"""Tags, names and numbers of a pair, written as placeholders on both sides."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from models.corpus import Pair
from models.tokenizer import ALONE, CLOSE, NAME, OPEN, PLACEHOLDERS, QUANTITY
from models.training.alignment import AlignedPair, Word

# Each is a share of the pairs that get placeholders.
NAME_SHARE, TERM_SHARE, QUANTITY_SHARE, TAG_SHARE, ALONE_SHARE, WHOLE_SHARE = 0.6, 0.25, 0.8, 0.6, 0.15, 0.15
MAX_NAME_WORDS, MAX_TERM_WORDS, MAX_TAGGED_WORDS, MAX_TAGS = 3, 2, 5, 3
# Shorter words are seldom terms.
MIN_TERM_CHARS = 4
MAX_UNIT_CHARS = 3
# Placeholders of a text usually count from one; these are numbered at random.
RANDOM_NUMBER_SHARE = 0.3


class Range(NamedTuple):
    """Words (first, last) of one side."""

    first: int
    last: int

    def overlaps(self, other: Range) -> bool:
        """Return whether they share a word."""
        return self.first <= other.last and other.first <= self.last

    def holds(self, other: Range) -> bool:
        """Return whether the other is inside."""
        return self.first <= other.first and other.last <= self.last


class Mark(NamedTuple):
    """A placeholder for the same words of both sides, or two around them.

    ``styles``: OPEN and CLOSE, or NAME, or QUANTITY; ALONE stands after the words.
    """

    english: Range
    other: Range
    styles: tuple[str, ...]

    def fits(self, mark: Mark) -> bool:
        """Return whether both may stand in one text: apart, or one inside the other's tags."""
        if not self.english.overlaps(mark.english) and not self.other.overlaps(mark.other):
            return True
        return self.surrounds(mark) or mark.surrounds(self)

    def surrounds(self, mark: Mark) -> bool:
        """Return whether the mark can stand inside these tags."""
        if len(self.styles) == 1 or (len(mark.styles) == 2 and self.english == mark.english):
            return False
        return self.english.holds(mark.english) and self.other.holds(mark.other)


@dataclass
class Marks:
    """The marks of one pair; all fit each other."""

    aligned: AlignedPair
    chosen: list[Mark] = field(default_factory=list[Mark])

    def add(self, english: Range, *styles: str) -> None:
        """Mark English words, if the other side has them in one place."""
        span = self.aligned.span(*english)
        if span is not None:
            self.add_mark(Mark(english, Range(*span), styles))

    def add_mark(self, mark: Mark) -> None:
        """Add a mark if it fits the others and a number is left."""
        if len(self.chosen) < PLACEHOLDERS and all(mark.fits(each) for each in self.chosen):
            self.chosen.append(mark)

    def write(self, rng: random.Random) -> Pair:
        """Return the pair with placeholders for the marks."""
        numbers = list(range(1, PLACEHOLDERS + 1))
        if rng.random() < RANDOM_NUMBER_SHARE:
            rng.shuffle(numbers)
        self.chosen.sort(key=lambda mark: (mark.english.first, -mark.english.last, -len(mark.styles)))
        spellings = [
            [style.format(n=number) for style in mark.styles]
            for mark, number in zip(self.chosen, numbers, strict=False)
        ]
        glue = rng.choice(("", " "))
        pair, aligned = self.aligned.pair, self.aligned
        english = zip((mark.english for mark in self.chosen), spellings, strict=True)
        other = zip((mark.other for mark in self.chosen), spellings, strict=True)
        return pair._replace(
            english=write_side(pair.english, aligned.english, list(english), glue),
            other=write_side(pair.other, aligned.other, list(other), glue),
        )


def write_side(text: str, words: Sequence[Word], marks: Sequence[tuple[Range, list[str]]], glue: str) -> str:
    """Return one side with spellings around, instead of, or (ALONE, with ``glue``) after its words."""
    before, after = [""] * len(words), [""] * len(words)
    instead: dict[int, str] = {}
    # Outer tags first: they open before inner ones, and close after them.
    for place, spellings in sorted(marks, key=lambda mark: (mark[0].first, -mark[0].last, -len(mark[1]))):
        if len(spellings) == 2:
            before[place.first] += spellings[0]
            after[place.last] = spellings[1] + after[place.last]
        elif spellings[0].startswith("<x"):
            after[place.last] = glue + spellings[0] + after[place.last]
        else:
            instead |= dict.fromkeys(range(place.first, place.last + 1), "") | {place.first: spellings[0]}
    pieces: list[str] = []
    end = 0
    for index, word in enumerate(words):
        # The gap before a replaced word goes with it, except before the first.
        gap = "" if instead.get(index) == "" else text[end : word.start]
        pieces += [gap, before[index], instead.get(index, word.text), after[index]]
        end = word.end
    return "".join(pieces) + text[end:]


def with_placeholders(aligned: AlignedPair, rng: random.Random) -> Pair:
    """Return the pair with some names and numbers as placeholders, and some words in tags."""
    marks = Marks(aligned)
    if rng.random() < NAME_SHARE:
        for place in names_in(aligned):
            marks.add(place, NAME)
    if rng.random() < QUANTITY_SHARE:
        for place in numbers_in(aligned):
            marks.add(place, QUANTITY)
    if rng.random() < TERM_SHARE:
        place = random_range(aligned, MAX_TERM_WORDS, rng)
        if all(len(word.text) >= MIN_TERM_CHARS for word in aligned.english[place.first : place.last + 1]):
            marks.add(place, NAME)
    if rng.random() < TAG_SHARE:
        for _ in range(rng.randint(1, MAX_TAGS)):
            marks.add(random_range(aligned, MAX_TAGGED_WORDS, rng), OPEN, CLOSE)
    if rng.random() < ALONE_SHARE and (cuts := list(aligned.cuts())):
        cut = rng.choice(cuts)
        marks.add_mark(Mark(Range(cut.english, cut.english), Range(cut.other, cut.other), (ALONE,)))
    pair = marks.write(rng)
    return tagged_as_a_whole(pair, len(marks.chosen) + 1) if rng.random() < WHOLE_SHARE else pair


def tagged_as_a_whole(pair: Pair, number: int) -> Pair:
    """Return the pair in tags of that number, unless it has them already."""
    opening, closing = OPEN.format(n=number), CLOSE.format(n=number)
    if number > PLACEHOLDERS or opening in pair.english:
        return pair
    return pair._replace(english=f"{opening}{pair.english}{closing}", other=f"{opening}{pair.other}{closing}")


def numbers_in(aligned: AlignedPair) -> list[Range]:
    """Return English numbers that are linked with numbers, with a unit that is the same on both sides."""
    linked = dict(aligned.links)
    ranges: list[Range] = []
    for english, other in aligned.links:
        if not (aligned.english[english].text[0].isdigit() and aligned.other[other].text[0].isdigit()):
            continue
        has_unit = linked.get(english + 1) == other + 1 and is_unit(aligned.english[english + 1].text)
        is_same = has_unit and aligned.english[english + 1].text == aligned.other[other + 1].text
        ranges.append(Range(english, english + is_same))
    return ranges


def is_unit(word: str) -> bool:
    """Return whether a word may be a unit: km, GB."""
    return word.isalpha() and len(word) <= MAX_UNIT_CHARS


def names_in(aligned: AlignedPair) -> list[Range]:
    """Return runs of capitalised English words that are the same on the other side."""
    linked = dict(aligned.links)
    ranges: list[Range] = []
    for index, word in enumerate(aligned.english):
        is_name = index in linked and word.text[0].isupper() and len(word.text) > 1
        if not is_name or aligned.other[linked[index]].text != word.text:
            continue
        last = ranges[-1] if ranges else None
        if last is not None and last.last == index - 1 and index - last.first < MAX_NAME_WORDS:
            ranges[-1] = Range(last.first, index)
        else:
            ranges.append(Range(index, index))
    return ranges


def random_range(aligned: AlignedPair, most: int, rng: random.Random) -> Range:
    """Return random English words, few more often than many."""
    first = rng.randrange(len(aligned.english))
    return Range(first, min(len(aligned.english) - 1, first + min(rng.randrange(most), rng.randrange(most))))
