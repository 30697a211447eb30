"""Links: they keep their definition when their words change."""

from __future__ import annotations

import pytest

from shared.protocol.translate_request import TextFormat
from tests.apiserver.formats.reassembly import translate


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("see [Words] here\n\n[words]: /u\n", "X [X][Words] X\n\n[words]: /u\n"),
        ("[Words][]\n\n[words]: /u\n", "[X][Words]\n\n[words]: /u\n"),
        ("[a][words]\n\n[words]: /u\n", "[X][words]\n\n[words]: /u\n"),
        ("![words] ![words][] a\n\n[words]: /u\n", "![words] ![words][] X\n\n[words]: /u\n"),
    ],
)
def test_link_keeps_its_definition(text: str, answer: str) -> None:
    assert translate(text, TextFormat.MARKDOWN) == answer
