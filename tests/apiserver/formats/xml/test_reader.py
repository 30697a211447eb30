"""XML reader: every tag comes back as it was and balanced, whatever the words become."""

from __future__ import annotations

import re
import time
from collections import Counter
from contextlib import suppress
from xml.parsers import expat

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apiserver.formats.parser import parse
from apiserver.formats.xml.tokens import XmlSyntaxError, XmlTokenKind, xml_tokens
from shared.protocol.translate_request import SentenceSplitting, TextFormat, XmlOptions
from tests.apiserver.formats.reassembly import source_of, texts, write

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


@settings(deadline=None)
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


@settings(deadline=None)
@given(st.lists(st.sampled_from(["<a>", "</a>", "<b>", "&", "<", "x", "]]>"]) | st.text(max_size=3), max_size=9))
def test_any_text_is_read_or_refused(parts: list[str]) -> None:
    text = "".join(parts)
    try:
        document = parse(text, TextFormat.XML)
    except XmlSyntaxError:
        return
    assert source_of(document) == text


@pytest.mark.parametrize(
    "text",
    [
        "<" * 100_000,
        "<a>" * 20_000 + "x" + "</a>" * 20_000,
        "<a>x" * 20_000 + "</a>" * 20_000,
        "<a>x</a>" * 20_000,
        "<a/>x" * 20_000,
        "&amp;x" * 20_000,
    ],
    ids=range(6),
)
@pytest.mark.parametrize(
    "options", [{}, {"outline_detection": False}, {"ignore_tags": ["a"]}, {"splitting_tags": ["a"]}]
)
def test_hostile_xml_takes_linear_time(text: str, options: dict[str, list[str]]) -> None:
    started = time.process_time()
    with suppress(XmlSyntaxError):
        parse(text, TextFormat.XML, xml=XmlOptions.model_validate(options))
    assert time.process_time() - started < 10, "a bound on the work, not a measurement"
