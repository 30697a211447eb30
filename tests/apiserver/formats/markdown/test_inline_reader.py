"""Inline Markdown: placeholders for its syntax, which is kept."""

from __future__ import annotations

import re

import pytest

from apiserver.formats.document import PlaceholderKind
from apiserver.formats.markdown.inline_reader import Spans
from apiserver.formats.parser import parse
from shared.protocol.translate_request import TextFormat
from tests.apiserver.formats.reassembly import translate


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("> a\n> *b* c\n\ntext", "> X *X* X\n\nX"),
        ("* a\n\n  b\n\n      code\n", "* X\n\n  X\n\n      code\n"),
        ("| a |\n|---|\n| b |\n", "| X |\n|---|\n| X |\n"),
        ('[a b](/u "tip here")\n', '[X X](/u "X X")\n'),
        ("![a b](/u 'tip')\n", "![X X](/u 'X')\n"),
        (
            "<details>\n<summary>a</summary>\n\nb\n\n</details>\n",
            "<details>\n<summary>X</summary>\n\nX\n\n</details>\n",
        ),
        ("> <div>\n> a\n> </div>\n\nb", "> <div>\n> a\n> </div>\n\nX"),
        ("![](a 'b') ![`a`](b) ![a](b 'c\\'d') ![a](b ' ') a", "![](a 'b') ![`a`](b) ![X](b 'c\\'d') ![X](b ' ') X"),
        ("line  \r\nline\r\n\r\nnext\r\n", "X  \r\nX\r\n\r\nX\r\n"),
    ],
)
def test_syntax_is_kept(text: str, answer: str) -> None:
    assert translate(text, TextFormat.MARKDOWN) == answer


def test_tags_are_paired_and_code_is_a_name() -> None:
    (block,) = parse("a [**b**](c) `d` <br/>\n", TextFormat.MARKDOWN).blocks
    assert [(placeholder.kind, placeholder.source) for placeholder in block.placeholders] == [
        (PlaceholderKind.OPEN, "[**"),
        (PlaceholderKind.CLOSE, "**](c)"),
        (PlaceholderKind.NAME, "`d`"),
    ]


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
