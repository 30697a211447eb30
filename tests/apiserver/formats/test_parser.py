"""Parser: each format has its reader; plain text is one block, and no character of it is taken for a placeholder."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apiserver.formats.document import MAX_PLACEHOLDERS, PlaceholderKind
from apiserver.formats.parser import parse
from shared.protocol.translate_request import TextFormat
from tests.apiserver.formats.reassembly import shown, source_of, write

PLANES = st.text(st.sampled_from("a \n\U000f0000\U000fffff\U0010fffd\ud800\0<&*"), max_size=20)


@pytest.mark.parametrize(
    ("text_format", "placeholders"), [(TextFormat.TEXT, 0), (TextFormat.HTML, 2), (TextFormat.MARKDOWN, 4)]
)
def test_format_chooses_the_reader(text_format: TextFormat, placeholders: int) -> None:
    (block,) = parse("a <b>b</b> *c* d", text_format).blocks
    assert len(block.placeholders) == placeholders


@settings(deadline=None)
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
