"""Open elements: what is kept inside them, and how they end."""

from __future__ import annotations

import pytest

from apiserver.formats.document import PlaceholderKind
from apiserver.formats.html.elements import OpenElements
from apiserver.formats.parser import parse
from shared.protocol.translate_request import TextFormat
from tests.apiserver.formats.reassembly import texts


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("<div translate=no>a <p translate=yes>b</p> c</div>d", ["b", "d"]),
        ("<ul><li class=notranslate>a<li>b</ul>", ["b"]),
        ("<p translate=no>a<p>b", ["b"]),
        ("<div translate=no><p>a</div><p>b", ["b"]),
        ("a <span translate=no>b <b>c</b></span> d", ["a ⟦0⟧ d"]),
        ("a <b class='notranslate'>b <i translate=''>c</i></b> d", ["a ⟦0⟧⟦1⟧c⟦2⟧⟦3⟧ d"]),
        ("<table translate=no><td>a<table><td>b</table>c</table>d", ["d"]),
        ("<code translate=yes>words</code>", ["words"]),
        ("<p translate=maybe>a", ["a"]),
        ("<option class=notranslate>a<option>b", ["b"]),
        ("<dl><dt translate=no>a<dd>b</dl>", ["b"]),
    ],
)
def test_translate_no_covers_its_element(text: str, blocks: list[str]) -> None:
    assert texts(parse(text, TextFormat.HTML)) == blocks


def test_start_tag_closes_what_it_implies() -> None:
    elements = OpenElements()
    for tag in ("ul", "li", "b", "li"):
        elements.start(tag, {}, is_closed=False)
    assert len(elements) == 2
    assert elements.current.tag == "li"


def test_stray_end_tag_ends_nothing() -> None:
    elements = OpenElements()
    elements.start("div", {}, is_closed=False)
    assert elements.end("b").tag == "div"
    assert len(elements) == 1


def test_void_elements_are_not_open() -> None:
    elements = OpenElements()
    assert elements.start("img", {"translate": "no"}, is_closed=False).kept_as is PlaceholderKind.NAME
    assert len(elements) == 0
