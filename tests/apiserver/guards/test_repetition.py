"""Repetition: loops are counted, whatever they stand among, in any script, in bounded time."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.guards.repetition import count_repetitions


@pytest.mark.parametrize(
    ("text", "words", "phrase"),
    [
        ("", 1, 1),
        ("Where is the station?", 1, 1),
        ("No, no!", 1, 1),
        ("No, no, no!", 3, 1),
        ("He said: very, very, VERY good.", 3, 1),
        ("in the end in the end in the end", 3, 3),
        ("At last we saw the sea, we saw the sea, we saw the sea and wept.", 3, 3),
        ("はいはいはいはい", 4, 1),
        ("ありがとうありがとうありがとう", 3, 3),
        ("a b c a b", 1, 1),
        ("x " * 50, 50, 8),
    ],
)
def test_repetitions_are_counted(text: str, words: int, phrase: int) -> None:
    assert count_repetitions(text, 6.0) == (words, phrase)


@given(st.text(st.sampled_from("ab .,あ\ud800"), max_size=40))
def test_phrase_count_is_at_most_the_word_count(text: str) -> None:
    counts = count_repetitions(text, 2.0)
    assert counts.words >= counts.phrase >= 1


def test_long_text_takes_bounded_time() -> None:
    started = time.process_time()
    count_repetitions("one two three four five " * 10_000, 8.0)
    assert time.process_time() - started < 2  # takes 30 ms
