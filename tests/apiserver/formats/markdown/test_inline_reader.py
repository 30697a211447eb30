"""Inline Markdown: placeholders for its syntax, which is kept."""

from __future__ import annotations

import pytest

from apiserver.formats.document import PlaceholderKind
from apiserver.formats.parser import parse
from shared.protocol.messages import TextFormat
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
