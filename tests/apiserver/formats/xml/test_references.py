"""References: the characters that they stand for, and words that stay XML."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.formats.xml.references import character, xml_escape
from apiserver.formats.xml.tokens import XmlTokenKind, xml_tokens


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
