"""Spans of a pattern."""

from __future__ import annotations

import re

import pytest

from apiserver.formats.markdown.spans import Spans

SPANS = Spans(re.compile("x+"), "axxbxa")


@pytest.mark.parametrize(("offset", "span"), [(0, None), (1, (1, 3)), (2, (1, 3)), (3, None), (4, (4, 5)), (5, None)])
def test_span_at_an_offset(offset: int, span: tuple[int, int] | None) -> None:
    assert SPANS.at(offset) == span


@pytest.mark.parametrize(
    ("start", "end", "parts"),
    [
        (0, 6, [(None, 0, 1), ((1, 3), 1, 3), (None, 3, 4), ((4, 5), 4, 5), (None, 5, 6)]),
        (2, 4, [((1, 3), 2, 3), (None, 3, 4)]),
        (5, 6, [(None, 5, 6)]),
        (3, 3, []),
    ],
)
def test_parts_within_offsets(start: int, end: int, parts: list[tuple[tuple[int, int] | None, int, int]]) -> None:
    assert list(SPANS.within(start, end)) == parts
