"""Sentences with words in bold."""

from __future__ import annotations

import random
import re

from hypothesis import given
from hypothesis import strategies as st

from benchmarks.quality.markup_scores import FEWEST_WORDS, MOST_BOLD, with_bold

WORDS = st.lists(st.sampled_from(["house", "a", "R&D", "<", "it's"]), min_size=FEWEST_WORDS, max_size=12)


@given(WORDS, st.integers(0, 1000))
def test_a_part_of_the_sentence_is_bold(words: list[str], seed: int) -> None:
    bold = with_bold(" ".join(words), random.Random(seed))  # noqa: S311 - variety, not secrets
    (inside,) = re.findall("<b>(.*)</b>", bold)
    assert 1 <= len(inside.split()) <= MOST_BOLD
    assert len(bold.split()) == len(words) > len(inside.split())


def test_signs_of_markup_are_escaped() -> None:
    bold = with_bold("< R&D a a a", random.Random(1))  # noqa: S311 - variety, not secrets
    assert "&lt; R&amp;D" in re.sub("</?b>", "", bold)
