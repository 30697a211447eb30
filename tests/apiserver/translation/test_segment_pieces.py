"""Segment pieces: where a segment is cut, and full stops that a piece lacks."""

from __future__ import annotations

import pytest

from apiserver.formats.document import placeholder_char
from apiserver.translation.segment_pieces import cut_into_pieces

A, B = placeholder_char(0), placeholder_char(1)


@pytest.mark.parametrize(
    ("text", "anywhere", "parts"),
    [
        (f"This is {A}very important{B} for us.", False, ["This is", " ", A, "very important", B, " ", "for us."]),
        ("I know the house, and I like it.", False, ["I know the house,", " ", "and I like it."]),
        ("one two three four", False, ["one two three four"]),
        ("one two three four", True, ["one two", " ", "three four"]),
        ("Haus", True, ["Haus"]),
    ],
)
def test_segment_is_cut_at_its_best_places(text: str, anywhere: bool, parts: list[str]) -> None:
    pieces = cut_into_pieces(text, "en", anywhere=anywhere)
    assert pieces == parts
    assert "".join(pieces) == text
