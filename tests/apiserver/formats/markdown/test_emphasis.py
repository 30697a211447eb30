"""Emphasis: each pair of delimiters stays a pair."""

from __future__ import annotations

import pytest

from apiserver.formats.document import placeholder_char
from apiserver.formats.parser import parse
from shared.protocol.translate_request import TextFormat


@pytest.mark.parametrize(
    ("translation", "answer"),
    [
        ("これは{重要です。}次", "これは<strong>重要です。</strong>次"),
        ("これは{「重要」}です", "これは<strong>「重要」</strong>です"),
        ("これは{重要}です。", "これは**重要**です。"),
        ("a{ b }c", "a **b** c"),
        ("{a}", "**a**"),
        ("a {} b", "a <strong></strong> b"),
    ],
)
def test_emphasis_works_next_to_any_letter(translation: str, answer: str) -> None:
    (block,) = parse("a **b** c\n", TextFormat.MARKDOWN).blocks
    text = translation.replace("{", placeholder_char(0)).replace("}", placeholder_char(1))
    assert block.write(text) == answer


def test_neighbouring_emphasis_stays_apart() -> None:
    (block,) = parse("x *a* *b* x\n", TextFormat.MARKDOWN).blocks
    assert block.write(block.text.replace(" ", "")) == "x<em>a</em><em>b</em>x"
