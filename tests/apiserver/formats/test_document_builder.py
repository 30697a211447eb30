"""Document builder: blocks at their places, the text between them as it is."""

from __future__ import annotations

from apiserver.formats.document import Block
from apiserver.formats.document_builder import DocumentBuilder, PlacedBlock


def test_text_between_blocks_is_kept() -> None:
    builder = DocumentBuilder("0123456789", 1, 9)
    first, second = Block("23", (), "23"), Block("56", (), "56")
    builder.place(PlacedBlock(2, 4, first))
    builder.place(PlacedBlock(5, 7, second))
    assert builder.parts() == ("1", first, "4", second, "78")


def test_nothing_is_added_without_text_between() -> None:
    builder = DocumentBuilder("ab", 0, 2)
    block = Block("ab", (), "ab")
    builder.place(PlacedBlock(0, 2, block))
    assert builder.parts() == (block,)
