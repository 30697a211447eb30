"""Lines joined by spaces: only soft breaks, in linear time."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.formats.lines import as_one_line, joined


@pytest.mark.parametrize(
    ("text", "lines", "line"),
    [
        ("a\nb", "a b", "a b"),
        ("a \r\n\tb", "a b", "a b"),
        ("a\rb", "a b", "a b"),
        ("a\n\nb", "a\n\nb", "a b"),
        ("a\n \n b", "a\n \n b", "a b"),
        ("\n a  b\u00a0c\td \n", "\n a  b\u00a0c\td \n", "\n a b\u00a0c d \n"),
        ("\n\n", "\n\n", "\n\n"),
        ("", "", ""),
    ],
)
def test_lines_are_joined(text: str, lines: str, line: str) -> None:
    assert joined(text) == lines
    assert as_one_line(text) == line


@given(st.text(st.sampled_from("a \n\r\t\u00a0\u2028"), max_size=30))
def test_joining_keeps_words_and_outer_space(text: str) -> None:
    for changed in (joined(text), as_one_line(text)):
        assert changed.split() == text.split()
        assert len(changed) - len(changed.strip()) == len(text) - len(text.strip())
    assert as_one_line(text).strip().splitlines() in ([], [as_one_line(text).strip()])


@pytest.mark.parametrize("unit", ["\n", " ", "a\n", "\r\n ", "a \n \n", "\t"])
def test_joining_takes_linear_time(unit: str) -> None:
    started = time.process_time()
    joined(unit * 200_000)
    as_one_line(unit * 200_000)
    assert time.process_time() - started < 5, "a bound on the work, not a measurement"
