"""Tokens of XML: they cover the text, and a text that is not well-formed is refused with its place."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from apiserver.formats.xml_tokens import XmlSyntaxError, XmlTokenKind, xml_tokens

PIECES = st.sampled_from(
    [
        "<a>",
        "</a>",
        "<b c='d'>",
        "</b>",
        "<x/>",
        "a",
        " ",
        "\n",
        "&amp;",
        "&",
        "<",
        ">",
        "<!--",
        "-->",
        "<![CDATA[",
        "]]>",
    ]
)


def kinds(text: str) -> str:
    return " ".join(token.kind.name for token in xml_tokens(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a > b", "WORDS"),
        ("a&amp;&#228;&#xE4;&own.name;", "WORDS REFERENCE REFERENCE REFERENCE REFERENCE"),
        ("<a/><a b='<'/>"[:4], "EMPTY"),
        ('<xliff:g id = "1"\n>é</xliff:g >', "START WORDS END"),
        ("<!-- <a> & -- --><?php < & ?><![CDATA[<a>&]]>", "OTHER OTHER CDATA"),
        ('<!DOCTYPE a [<!ENTITY b "]>"> <!-- \' ]> --> ]><a></a>', "OTHER START END"),
        ("<é·1></é·1>", "START END"),
        ("", ""),
    ],
)
def test_tokens_have_their_kind(text: str, expected: str) -> None:
    assert kinds(text) == expected


@pytest.mark.parametrize(
    ("text", "place", "problem"),
    [
        ("<a>\n<b></a>", "line 2, column 4", "another name than the element opened at line 2, column 1"),
        ("<a>\n <b>", "line 2, column 2", "never closed"),
        ("é</a>", "line 1, column 2", "closes no element"),
        ("AT&T", "line 1, column 3", "write &amp;"),
        ("&#12345678;", "line 1, column 1", "write &amp;"),
        ("a < b", "line 1, column 3", "write &lt;"),
        ("<a b=c></a>", "line 1, column 1", "write &lt;"),
        ("<a b='<'></a>", "line 1, column 1", "write &lt;"),
        ("<1></1>", "line 1, column 1", "write &lt;"),
        ("<!-- ", "line 1, column 1", "this comment does not end"),
        ("<![CDATA[ ]>", "line 1, column 1", "this CDATA section does not end"),
        ("\n<?x ", "line 2, column 1", "this processing instruction does not end"),
        ("<!DOCTYPE a [", "line 1, column 1", "write &lt;"),
        ("ab\0", "line 1, column 3", "not allowed"),
    ],
)
def test_malformed_text_is_refused_with_its_place(text: str, place: str, problem: str) -> None:
    with pytest.raises(XmlSyntaxError) as caught:
        kinds(text)
    assert str(caught.value).startswith(f"is not well-formed XML: {place}: ")
    assert problem in str(caught.value)


@given(st.lists(PIECES | st.text(max_size=3), max_size=12).map("".join))
@example("<a>&amp;</a>")
def test_tokens_cover_the_text_and_balance(text: str) -> None:
    try:
        tokens = list(xml_tokens(text))
    except XmlSyntaxError:
        return
    assert "".join(text[token.start : token.end] for token in tokens) == text
    assert all(token.start < token.end for token in tokens)
    opened = [token.name for token in tokens if token.kind is XmlTokenKind.START]
    closed = [token.name for token in tokens if token.kind is XmlTokenKind.END]
    assert sorted(opened) == sorted(closed)


HOSTILE = [
    "<",
    "<a>",
    "<!--",
    "<!-- -->",
    "<![CDATA[",
    "&",
    "&amp;",
    "<?",
    "<a b='",
    "<a b='c' ",
    "<!DOCTYPE [",
    "</a>",
    "&#",
]


@pytest.mark.parametrize("unit", HOSTILE)
@pytest.mark.parametrize("head", ["", "<a ", "<!DOCTYPE a [", "<!DOCTYPE ", "<!--", "&a", "</a"])
def test_hostile_text_takes_linear_time(head: str, unit: str) -> None:
    started = time.process_time()
    with suppress(XmlSyntaxError):
        list(xml_tokens(head + unit * 30_000))
    assert time.process_time() - started < 5, "a bound on the work, not a measurement"
