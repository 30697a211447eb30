"""Splitting of lists and texts at the limits of a request."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pairway.answers import Translation, TranslationWarning
from pairway.splitting import FRAME_BYTES, Limits, Piece, batches_of, encode, pieces_of, put_together

TEXTS = st.text(st.sampled_from("ab .\n\u3002\U0001f600\ud800"), max_size=300)


@given(TEXTS, st.integers(1, 50), st.integers(20, 200))
def test_pieces_are_below_the_limits_and_make_the_text(text: str, characters: int, most_bytes: int) -> None:
    limits = Limits(characters=characters, bytes=most_bytes + FRAME_BYTES)
    pieces = pieces_of(text, limits, 0)
    assert "".join(piece.text + piece.gap for piece in pieces) == text
    assert all(len(piece.text) <= characters and len(encode(piece.text)) <= most_bytes for piece in pieces)


@pytest.mark.parametrize(
    ("text", "heads"),
    [
        ("One two.\n\nThree four.\nFive six.", ["One two.", "Three four.\nFive six."]),
        ("One two three.\nFour five six. Seven.", ["One two three.", "Four five six. Seven."]),
        ("One two three. Four five six seven.", ["One two three.", "Four five six seven."]),
        ("onetwothree fourfivesixseven", ["onetwothree", "fourfivesixseven"]),
    ],
)
def test_text_is_cut_at_its_largest_gap(text: str, heads: list[str]) -> None:
    assert [piece.text for piece in pieces_of(text, Limits(characters=24), 0)] == heads


@pytest.mark.parametrize("unit", ["a", "\n", " ", "a\n", ". ", "\u3002", "\0"])
def test_long_text_of_one_kind_is_cut(unit: str) -> None:
    text = unit * 500_000
    pieces = pieces_of(text, Limits(), 0)
    assert "".join(piece.text + piece.gap for piece in pieces) == text


@given(st.lists(TEXTS, max_size=40), st.integers(1, 5), st.integers(1, 1000))
def test_batches_hold_all_in_order(texts: list[str], most_texts: int, most_bytes: int) -> None:
    batches = list(batches_of(texts, most_texts, most_bytes))
    assert [place for batch in batches for place in batch] == list(range(len(texts)))
    for batch in batches:
        assert 1 <= len(batch) <= most_texts
        assert len(batch) == 1 or len(encode(texts[batch.start : batch.stop])) <= most_bytes + FRAME_BYTES


def test_batches_are_as_large_as_the_limits_let_them() -> None:
    assert [len(batch) for batch in batches_of(["a" * 100] * 512, 256, 2 << 20)] == [256, 256]
    assert [len(batch) for batch in batches_of(["a" * 7] * 10, 256, 50)] == [5, 5]


def test_limits_ignore_what_they_do_not_know() -> None:
    assert Limits.of({"texts": 5, "bytes": "many", "later": 1}) == Limits(texts=5)


@pytest.mark.parametrize(
    ("members", "lowered"),
    [
        ({"unit": "texts", "limit": 7}, Limits(texts=7)),
        ({"unit": "characters", "limit": 7}, Limits(characters=7)),
        ({"unit": "characters", "limit": 7, "detail": "This key may translate 7 a day."}, None),
        ({"unit": "texts", "limit": 256}, None),
        ({"unit": "texts", "limit": "7"}, None),
        ({"unit": "JSON names and values", "limit": 7}, None),
        ({}, None),
    ],
)
def test_413_lowers_the_limit_that_it_names(members: dict[str, object], lowered: Limits | None) -> None:
    assert Limits().lowered(members) == lowered


def test_surrogates_are_escaped() -> None:
    assert encode("\ud800\u00e9") == b'"\\ud800\xc3\xa9"'


@given(TEXTS)
def test_encoded_texts_are_read_as_they_were(text: str) -> None:
    assert json.loads(encode([text, "\0"])) == [text, "\0"]


def test_pieces_of_a_translation_are_put_together() -> None:
    warning = TranslationWarning("number-changed", "One.")
    pieces = [Piece("a", "\n\n"), Piece("b")]
    first = Translation("A", "en", "de", confidence=0.9, warnings=[warning])
    second = Translation("B", "en", "de", confidence=0.5, warnings=[warning])
    whole = put_together(pieces, [first, second])
    assert (str(whole), whole.confidence, whole.warnings) == ("A\n\nB", 0.5, [warning])
    withheld = put_together(pieces, [first, Translation(None, "en", "de")])
    assert (withheld.text, str(withheld)) == (None, "")
