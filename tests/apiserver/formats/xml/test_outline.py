"""Outline: which tags separate sentences, which belong to one, and which are ignored."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.formats.xml.outline import TokenRole, token_roles
from apiserver.formats.xml.tokens import XmlTokenKind, xml_tokens
from shared.protocol.translate_request import XmlOptions

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
