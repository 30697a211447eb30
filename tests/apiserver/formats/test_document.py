"""A document: which reader it gets, its blocks, and its text again."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.formats.document import (
    MAX_PLACEHOLDERS,
    Block,
    Document,
    DocumentBuilder,
    PlacedBlock,
    Placeholder,
    PlaceholderKind,
    as_one_line,
    has_words,
    joined_lines,
    placeholder_char,
    placeholder_char_or_empty,
    placeholder_index,
    replace_private_chars,
    without_placeholders,
)
from apiserver.formats.parser import parse
from shared.protocol.translate_request import TextFormat
from tests.apiserver.formats.reassembly import shown, source_of, write


def test_block_escapes_words_but_not_syntax() -> None:
    placeholders = (
        Placeholder(PlaceholderKind.ALONE, "<br>", "<br>"),
        Placeholder(PlaceholderKind.NAME, "<x>", "<x>", is_text=True),
    )
    block = Block("", placeholders, "", escape=lambda text: text.replace("<", "&lt;"))
    assert block.write(f"a<b{placeholder_char(0)}{placeholder_char(1)}") == "a&lt;b<br>&lt;x>"


def test_placeholder_chars_have_an_index() -> None:
    for index in (0, 1, MAX_PLACEHOLDERS - 1):
        assert placeholder_index(placeholder_char(index)) == index
    assert placeholder_index("a") is None
    assert without_placeholders(f"a{placeholder_char(7)}b") == "a b"


def test_blocks_inside_placeholders_come_first() -> None:
    inner = Block("alt", (), "alt")
    image = Placeholder(PlaceholderKind.ALONE, "<img>", "<img>", inner_parts=("<img alt='", inner, "'>"))
    outer = Block(placeholder_char(0), (image,), "<img alt='alt'>")
    assert Document(("<p>", outer)).blocks == (inner, outer)


def test_private_characters_are_replaced_by_placeholders() -> None:
    placeholders: list[Placeholder] = []
    words = replace_private_chars("a\U000f0005\U000f0006b\U0010fffd", placeholders)
    assert words == f"a{placeholder_char(0)}b{placeholder_char(1)}"
    assert [placeholder.source for placeholder in placeholders] == ["\U000f0005\U000f0006", "\U0010fffd"]


def test_no_character_beyond_the_last_placeholder() -> None:
    assert placeholder_char_or_empty(MAX_PLACEHOLDERS - 1) == placeholder_char(MAX_PLACEHOLDERS - 1)
    assert placeholder_char_or_empty(MAX_PLACEHOLDERS) == ""


def test_white_space_and_placeholders_are_no_words() -> None:
    assert has_words(" a ")
    assert not has_words(f" \n{placeholder_char(0)}")


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


@pytest.mark.parametrize(
    ("text", "lines", "line"),
    [
        ("a\nb", "a b", "a b"),
        ("a \r\n\tb", "a b", "a b"),
        ("a\rb", "a b", "a b"),
        ("a\n\nb", "a\n\nb", "a b"),
        ("a\n \n b", "a\n \n b", "a b"),
        ("\n a  b\u00a0c\td \n", "\n a  b\u00a0c\td \n", "\n a b\u00a0c d \n"),
        ("\n\n", "\n\n", "\n\n"),
        ("", "", ""),
    ],
)
def test_lines_are_joined(text: str, lines: str, line: str) -> None:
    assert joined_lines(text) == lines
    assert as_one_line(text) == line


@given(st.text(st.sampled_from("a \n\r\t\u00a0\u2028"), max_size=30))
def test_joining_keeps_words_and_outer_space(text: str) -> None:
    for changed in (joined_lines(text), as_one_line(text)):
        assert changed.split() == text.split()
        assert len(changed) - len(changed.strip()) == len(text) - len(text.strip())
    assert as_one_line(text).strip().splitlines() in ([], [as_one_line(text).strip()])


@pytest.mark.parametrize("unit", ["\n", " ", "a\n", "\r\n ", "a \n \n", "\t"])
def test_joining_takes_linear_time(unit: str) -> None:
    started = time.process_time()
    joined_lines(unit * 200_000)
    as_one_line(unit * 200_000)
    assert time.process_time() - started < 5, "a bound on the work, not a measurement"


PLANES = st.text(st.sampled_from("a \n\U000f0000\U000fffff\U0010fffd\ud800\0<&*"), max_size=20)


@pytest.mark.parametrize(
    ("text_format", "placeholders"), [(TextFormat.TEXT, 0), (TextFormat.HTML, 2), (TextFormat.MARKDOWN, 4)]
)
def test_format_chooses_the_reader(text_format: TextFormat, placeholders: int) -> None:
    (block,) = parse("a <b>b</b> *c* d", text_format).blocks
    assert len(block.placeholders) == placeholders


@given(PLANES | st.text())
def test_text_is_written_as_it_was(text: str) -> None:
    document = parse(text, TextFormat.TEXT)
    assert source_of(document) == write(document) == text


@pytest.mark.parametrize("text", ["", " ", "\n\t ", "\u3000", "\U000f0000", "\U000f0000 \U0010fffd\n"])
def test_text_without_words_has_no_block(text: str) -> None:
    assert parse(text, TextFormat.TEXT).blocks == ()


def test_text_is_one_block_with_its_white_space() -> None:
    (block,) = parse(" a\n\n<b>&amp; *c* ", TextFormat.TEXT).blocks
    assert (block.text, block.placeholders) == (" a\n\n<b>&amp; *c* ", ())


def test_private_characters_are_placeholders() -> None:
    (block,) = parse("a \U000f0001\U0010fffd b \U000f0000", TextFormat.TEXT).blocks
    assert shown(block) == "a ⟦0⟧ b ⟦1⟧"
    assert [(placeholder.kind, placeholder.target) for placeholder in block.placeholders] == [
        (PlaceholderKind.NAME, "\U000f0001\U0010fffd"),
        (PlaceholderKind.NAME, "\U000f0000"),
    ]


def test_too_many_private_characters_leave_no_block() -> None:
    assert parse("a\U000f0000" * (MAX_PLACEHOLDERS + 1), TextFormat.TEXT).blocks == ()
    assert len(parse("a\U000f0000" * MAX_PLACEHOLDERS, TextFormat.TEXT).blocks) == 1
