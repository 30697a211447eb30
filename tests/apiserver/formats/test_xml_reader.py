"""XML: its tokens, and its blocks of words."""

from __future__ import annotations

import re
import time
from collections import Counter
from contextlib import suppress
from typing import Any
from xml.parsers import expat

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from apiserver.formats.parser import parse
from apiserver.formats.xml_reader import TokenRole, character, token_roles, xml_escape
from apiserver.formats.xml_tokens import XmlSyntaxError, XmlTokenKind, xml_tokens
from shared.protocol.translate_request import SentenceSplitting, TextFormat, XmlOptions
from tests.apiserver.formats.reassembly import source_of, texts, write

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
def test_hostile_text_takes_linear_time(unit: str) -> None:
    for head in ("", "<a ", "<!DOCTYPE a [", "<!DOCTYPE ", "<!--", "&a", "</a"):
        started = time.process_time()
        with suppress(XmlSyntaxError):
            list(xml_tokens(head + unit * 30_000))
        assert time.process_time() - started < 5, f"{head}: a bound on the work, not a measurement"


@pytest.mark.parametrize(
    ("reference", "char"),
    [
        ("&amp;", "&"),
        ("&apos;", "'"),
        ("&nbsp;", "\u00a0"),
        ("&#228;", "ä"),
        ("&#xe4;", "ä"),
        ("&#x1F600;", "\U0001f600"),
        ("&#0;", None),
        ("&#xD800;", None),
        ("&#x110000;", None),
        ("&#9999999;", None),
        ("&brand;", None),
        ("&AMP;", None),
    ],
)
def test_reference_stands_for_its_character(reference: str, char: str | None) -> None:
    assert character(reference) == char


@pytest.mark.parametrize(
    ("source", "written"),
    [
        ("x", "&lt;a&gt; &amp; \"b\" 'c'\u00a0d"),
        ("&quot;x&quot;", "&lt;a&gt; &amp; &quot;b&quot; 'c'\u00a0d"),
        ("&#39;x&nbsp;", '&lt;a&gt; &amp; "b" &#39;c&#39;&nbsp;d'),
    ],
)
def test_words_are_written_as_the_source_does(source: str, written: str) -> None:
    assert xml_escape(source)("<a> & \"b\" 'c'\u00a0d") == written


@given(st.text(), st.text())
def test_any_words_stay_words(source: str, words: str) -> None:
    tokens = list(xml_tokens(xml_escape(source)(words)))
    assert all(token.kind in {XmlTokenKind.WORDS, XmlTokenKind.REFERENCE} for token in tokens)


TAGS = {XmlTokenKind.START, XmlTokenKind.END, XmlTokenKind.EMPTY}
CASES: list[tuple[str, dict[str, Any], str]] = [
    # The whole has text of its own, so its tags belong to the sentence.
    ("Press <i>here</i>, or <b><i>there</i></b>.", {}, ""),
    ("<par>One <i>is</i> here.</par><par>Two</par>", {}, "par"),
    ("<d>\n <m><t>One</t></m>\n <c><p>Two <b/></p></c> </d>", {}, "d m t c p"),
    ("<d><![CDATA[x]]><p>y</p></d>", {}, "d"),
    ("<d>&nbsp;<p>y</p></d>", {}, "d"),
    ("<d><!-- x --><p>y</p></d>", {}, "d p"),
    ("<par>The firm</par><par> said</par>", {"non_splitting_tags": ["par"]}, ""),
    ("<d><par>The firm</par></d>", {"outline_detection": False}, ""),
    ("<d><par>The firm</par></d>", {"outline_detection": False, "splitting_tags": ["par"]}, "d par"),
    ("One <b>two <par/> three</b> <i>four</i>", {"splitting_tags": ["par"]}, "b par"),
    ("One <b>two <p>x</p></b>", {"splitting_tags": ["p"], "non_splitting_tags": ["b"]}, "b p"),
    ("<d><x>One</x><p>Two</p></d>", {"ignore_tags": ["x"]}, "d p"),
    ("<d><x><p>One</p></x></d>", {"ignore_tags": ["x"], "splitting_tags": ["p"]}, "d"),
    ("a<x>One</x>b", {"ignore_tags": ["x"], "splitting_tags": ["x"]}, "x"),
]


@pytest.mark.parametrize(("text", "options", "borders"), CASES)
def test_borders_are_the_structure(text: str, options: dict[str, Any], borders: str) -> None:
    tokens = list(xml_tokens(text))
    roles = token_roles(text, tokens, XmlOptions.model_validate(options))
    opening = [token.name for token, role in zip(tokens, roles, strict=True) if role is TokenRole.BORDER]
    assert list(dict.fromkeys(opening)) == borders.split()
    assert len(tokens) == len(roles)


def test_everything_in_an_ignored_element_is_ignored() -> None:
    text = "a <x id='1'>b <y>c</y><!-- d --></x> e"
    tokens = list(xml_tokens(text))
    roles = token_roles(text, tokens, XmlOptions(ignore_tags=["x"]))
    ignored = [
        text[token.start : token.end] for token, role in zip(tokens, roles, strict=True) if role.name == "IGNORED"
    ]
    assert "".join(ignored) == "<x id='1'>b <y>c</y><!-- d --></x>"


NAMES = st.sampled_from(["a", "b", "par", "x", "xliff:g"])
WORDS = st.sampled_from(["One two.", " ", "\n", "&amp; ", "&lt;b&gt;", "&own;", "&#160;", "é", "\U000f0000", "Three"])
LEAVES = WORDS | st.sampled_from(["<br/>", "<!-- <c> -->", "<?pi <c>?>", "<![CDATA[<c> & d]]>", '<x id="12"></x>'])
XML_TEXTS = st.recursive(
    LEAVES,
    lambda inner: (
        st.tuples(NAMES, st.lists(inner, max_size=4)).map(
            lambda pair: f"<{pair[0]} k = 'v&gt;'>{''.join(pair[1])}</{pair[0]}>"
        )
        | st.lists(inner, max_size=3).map("".join)
    ),
    max_leaves=12,
)
TAG_LISTS = st.lists(NAMES, max_size=2, unique=True)
OPTIONS = st.builds(XmlOptions, ignore_tags=TAG_LISTS, splitting_tags=TAG_LISTS, outline_detection=st.booleans())


def markup(text: str) -> Counter[str]:
    words = {XmlTokenKind.WORDS, XmlTokenKind.REFERENCE}
    return Counter(text[token.start : token.end] for token in xml_tokens(text) if token.kind not in words)


def changed(part: str) -> str:
    return re.sub(r"\w+", "Wörter <&>", part)


@pytest.mark.parametrize(
    ("text", "options", "blocks"),
    [
        ("Press <i>Continue</i> &amp; go.", XmlOptions(), ["Press ⟦0⟧Continue⟦1⟧ & go."]),
        ("<t>One</t>\n<p>Two. <b>Three</b> is.</p>", XmlOptions(), ["One", "Two. ⟦0⟧Three⟦1⟧ is."]),
        ('Hi <x id="12"></x>, &brand; is <![CDATA[<b>]]>', XmlOptions(ignore_tags=["x"]), ["Hi ⟦0⟧, ⟦1⟧ is ⟦2⟧"]),
        ("Open <x>the <b>page</b></x> now", XmlOptions(ignore_tags=["x"]), ["Open ⟦0⟧ now"]),
        ("<p><x>One</x></p><!-- Two --><?three?>", XmlOptions(ignore_tags=["x"]), []),
    ],
)
def test_words_between_structural_tags_are_blocks(text: str, options: XmlOptions, blocks: list[str]) -> None:
    assert texts(parse(text, TextFormat.XML, xml=options)) == blocks


def test_white_space_is_kept_or_soft() -> None:
    text = "<p>One\n two</p>"
    assert texts(parse(text, TextFormat.XML, SentenceSplitting.SENTENCES)) == ["One two"]
    assert texts(parse(text, TextFormat.XML, SentenceSplitting.LINES_AND_SENTENCES)) == ["One\n two"]


@given(XML_TEXTS, OPTIONS)
def test_markup_survives_any_words(text: str, options: XmlOptions) -> None:
    document = parse(text, TextFormat.XML, xml=options)
    assert source_of(document) == text
    translation = write(document, changed)
    assert markup(translation) == markup(text)
    for tag in options.splitting_tags:
        find = re.compile(f"</?{tag}[ >]")
        if not options.ignore_tags:
            assert find.findall(translation) == find.findall(text)
    if "&own;" not in text:
        expat.ParserCreate().Parse(f"<r>{translation}</r>", True)


@given(st.lists(st.sampled_from(["<a>", "</a>", "<b>", "&", "<", "x", "]]>"]) | st.text(max_size=3), max_size=9))
def test_any_text_is_read_or_refused(parts: list[str]) -> None:
    text = "".join(parts)
    try:
        document = parse(text, TextFormat.XML)
    except XmlSyntaxError:
        return
    assert source_of(document) == text


TOO_DEEP = "<a>x" * 20_000 + "</a>" * 20_000


@pytest.mark.no_cover
@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("<" * 100_000, {}),
        ("<a>" * 20_000 + "x" + "</a>" * 20_000, {}),
        (TOO_DEEP, {}),
        ("<a/>x" * 20_000, {}),
        ("&amp;x" * 20_000, {}),
        ("<a>x</a>" * 20_000, {"outline_detection": False}),
        (TOO_DEEP, {"ignore_tags": ["a"]}),
        (TOO_DEEP, {"splitting_tags": ["a"]}),
    ],
    ids=range(8),
)
def test_hostile_xml_takes_linear_time(text: str, options: dict[str, list[str]]) -> None:
    started = time.process_time()
    with suppress(XmlSyntaxError):
        parse(text, TextFormat.XML, xml=XmlOptions.model_validate(options))
    assert time.process_time() - started < 10, "a bound on the work, not a measurement"
