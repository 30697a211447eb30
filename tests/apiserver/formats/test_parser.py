"""Parser: each format has its reader."""

from __future__ import annotations

import pytest

from apiserver.formats.parser import parse
from shared.protocol.messages import TextFormat


@pytest.mark.parametrize(
    ("text_format", "placeholders"), [(TextFormat.TEXT, 0), (TextFormat.HTML, 2), (TextFormat.MARKDOWN, 4)]
)
def test_format_chooses_the_reader(text_format: TextFormat, placeholders: int) -> None:
    (block,) = parse("a <b>b</b> *c* d", text_format).blocks
    assert len(block.placeholders) == placeholders
