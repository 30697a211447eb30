"""Attributes: those that hold words are translated in their quotes."""

from __future__ import annotations

import pytest
import turbohtml

from apiserver.formats.parser import parse
from shared.protocol.translate_request import TextFormat
from tests.apiserver.formats.reassembly import translate, write


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ('<p>See <img alt="A red car" src=x> here</p>', '<p>X <img alt="X X X" src=x> X</p>'),
        ('<a title="Click me" href="/a">text</a> is it', '<a title="X X" href="/a">X</a> X X'),
        ("<img alt=Car><input placeholder='Your name'>", "<img alt=X><input placeholder='X X'>"),
        ('<input type=SUBMIT value="Go on"><option label="One">', '<input type=SUBMIT value="X X"><option label="X">'),
        ('<meta name="Description" content="About us">', '<meta name="Description" content="X X">'),
        ('<b aria-label=" Close it ">x</b>', '<b aria-label=" X X ">X</b>'),
        ('<img title="one\ntwo" alt = "three">', '<img title="X\nX" alt = "X">'),
        ("a <img alt='b'/> <img alt=c> d", "X <img alt='X'/> <img alt=X> X"),
    ],
)
def test_attributes_with_words_are_translated(text: str, answer: str) -> None:
    assert translate(text, TextFormat.HTML) == answer


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<img alt=Car src=x>", "a \"b' <c>=`d&amp;"),
        ("<img alt='Car' src=x>", 'it\'s "&lt;"'),
        ('<img alt="Car">', '"&'),
    ],
)
def test_attribute_words_stay_inside_their_quotes(text: str, words: str) -> None:
    (tag,) = [token for token in turbohtml.tokenize(write(parse(text, TextFormat.HTML), lambda _: words)) if token.tag]
    assert tag.attr("alt") == words
