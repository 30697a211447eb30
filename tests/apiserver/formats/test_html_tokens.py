"""HTML tokens: they cover a text without gaps."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apiserver.formats.html_tokens import TokenKind, html_tokens


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(["<b>", "</b>", "</>", "<!-- c -->", "&amp;", "&", "<", "a b", "\r\n", "\0", "<a x='"])
    ).map("".join)
)
def test_tokens_cover_the_text(text: str) -> None:
    tokens = list(html_tokens(text, 0, len(text)))
    assert "".join(text[token.start : token.end] for token in tokens) == text
    assert all(token.start < token.end for token in tokens)


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("a&amp;", [TokenKind.WORDS, TokenKind.REFERENCE]),
        ("<b>x</b>", [TokenKind.START, TokenKind.WORDS, TokenKind.END]),
        ("<!-- c -->x", [TokenKind.OTHER, TokenKind.WORDS]),
    ],
)
def test_kinds_of_tokens(text: str, kinds: list[TokenKind]) -> None:
    assert [token.kind for token in html_tokens(text, 0, len(text))] == kinds


def test_offsets_count_from_the_whole_text() -> None:
    text = "abc<b title='x y'>d"
    (tag, words) = html_tokens(text, 3, len(text))
    assert (tag.start, tag.end, tag.tag, dict(tag.attributes)) == (3, 18, "b", {"title": "x y"})
    assert (words.start, words.end) == (18, 19)
