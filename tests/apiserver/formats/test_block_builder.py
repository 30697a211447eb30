"""Block builder: runs become blocks."""

from __future__ import annotations

from apiserver.formats.block_builder import BlockBuilder
from apiserver.formats.document import Block, PlaceholderKind, placeholder_char
from apiserver.formats.document_builder import DocumentBuilder, PlacedBlock, TextRun

TEXT = "one <b> two"


def build(*runs: TextRun, keep_space: bool = False) -> tuple[str | Block, ...]:
    document = DocumentBuilder(TEXT, 0, len(TEXT))
    builder = BlockBuilder(TEXT, document, lambda _, block: block)
    for run in runs:
        builder.add(run)
    builder.end_block(keep_space=keep_space)
    return document.parts()


def test_runs_make_one_block() -> None:
    tag = TextRun(4, 7, PlaceholderKind.ALONE)
    (block,) = build(TextRun(0, 4, words="one "), tag, TextRun(7, 11, words=" two"))
    assert isinstance(block, Block)
    assert (block.text, block.source) == (f"one {placeholder_char(0)} two", TEXT)


def test_white_space_becomes_one_space_unless_kept() -> None:
    for keep_space, words in ((False, "a b"), (True, "a \n b")):
        (block,) = build(TextRun(0, 11, words="a \n b"), keep_space=keep_space)
        assert isinstance(block, Block)
        assert block.text == words


def test_runs_without_words_give_only_their_inner_blocks() -> None:
    inner = Block("<", (), "<")
    tag = TextRun(4, 7, PlaceholderKind.ALONE, inner_blocks=(PlacedBlock(4, 5, inner),))
    assert build(TextRun(3, 4, words=" "), tag) == ("one ", inner, "b> two")
