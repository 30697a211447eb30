"""Tag nesting: which tags are outside a block, and which are partners."""

from __future__ import annotations

import pytest

from apiserver.formats import tag_nesting
from apiserver.formats.document import (
    Block,
    DocumentBuilder,
    PlacedBlock,
    PlaceholderKind,
    TextRun,
    placeholder_char,
)
from apiserver.formats.parser import parse
from apiserver.formats.tag_nesting import BlockBuilder
from shared.protocol.translate_request import TextFormat


@pytest.mark.parametrize(
    "text",
    ["<p><b>whole</b></p>", "<a href=x><img src=y> whole </a>", "<span><i class=icon></i> whole</span>",
     "<b><i><u>whole</u></i></b>", " <!-- c --> whole <img src=x> ", "</b> whole <b>", "<b>whole <i class=icon></i></b>", "<p>\n\twhole\r\n</p>"],
)  # fmt: skip
def test_tags_around_all_words_are_outside_the_block(text: str) -> None:
    (block,) = parse(text, TextFormat.HTML).blocks
    assert (block.text, block.placeholders) == ("whole", ())


def test_paired_tags_are_partners_and_others_alone() -> None:
    (block,) = parse("a <b>b <i>c</b> d</i> <a>e</a> f", TextFormat.HTML).blocks
    kinds = [(placeholder.kind, placeholder.source, placeholder.partner) for placeholder in block.placeholders]
    assert kinds == [
        (PlaceholderKind.OPEN, "<b>", 2),
        (PlaceholderKind.ALONE, "<i>", None),
        (PlaceholderKind.CLOSE, "</b>", 0),
        (PlaceholderKind.ALONE, "</i>", None),
        (PlaceholderKind.OPEN, "<a>", 5),
        (PlaceholderKind.CLOSE, "</a>", 4),
    ]


def test_neighbouring_tags_share_a_placeholder() -> None:
    (block,) = parse("a <b><i>b</i></b> <img src=x> <br-x></br-x> c", TextFormat.HTML).blocks
    assert [placeholder.source for placeholder in block.placeholders] == [
        "<b><i>",
        "</i></b>",
        "<img src=x> <br-x></br-x>",
    ]


def test_too_many_placeholders_leave_the_block_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tag_nesting, "MAX_PLACEHOLDERS", 10)
    text = "x<b>" * 12 + "</p>word"
    assert len(parse(text, TextFormat.HTML).blocks) == 1


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
