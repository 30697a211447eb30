"""Text runs: words, and a client's private characters."""

from __future__ import annotations

from apiserver.formats.document import MAX_PLACEHOLDERS, Placeholder, placeholder_char
from apiserver.formats.runs import has_words, placeholder_char_or_empty, replace_private_chars


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
