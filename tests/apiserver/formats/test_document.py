"""Blocks written again, and their placeholders' characters."""

from __future__ import annotations

from apiserver.formats.document import (
    MAX_PLACEHOLDERS,
    Block,
    Document,
    Placeholder,
    PlaceholderKind,
    has_words,
    placeholder_char,
    placeholder_char_or_empty,
    placeholder_index,
    replace_private_chars,
    without_placeholders,
)


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
