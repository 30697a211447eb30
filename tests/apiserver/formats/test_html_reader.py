"""HTML: its tokens, and its blocks of words."""

from __future__ import annotations

import re

import pytest
import turbohtml
from hypothesis import given
from hypothesis import strategies as st

from apiserver.formats.document import PlaceholderKind
from apiserver.formats.html_reader import OpenElements
from apiserver.formats.html_tokens import TokenKind, html_tokens
from apiserver.formats.parser import parse
from shared.protocol.translate_request import TextFormat
from tests.apiserver.formats.reassembly import source_of, texts, translate, write


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


PARTS = [
    "<p>", "</p>", "<b>", "</b>", "<i>", "</i>", "<a href=x title='a b'>", "</a>", "<", "&", "&amp;", "&nbsp;", "&#13;",
    "word ", "two words", " ", "\n", "\r\n", "\0", "<br>", "<div>", "</div>", "<ul>", "<li>", "</ul>", "<table>", "<tr>",
    "<td>", "</table>", "<!--", "-->", "<!-- c -->", "<code>", "</code>", "<svg>", "</svg>", "<script>", "</script>",
    "<pre>", "</pre>", "<img alt='x y'>", "<img alt=x>", "</>", "<i translate=no>", "<span translate=yes>", "</span>",
    "<title>", "</title>", "<textarea>", '<option label="a>b">', "\U000f0001", "\ud800", ">", '"', "'", "=", "<x/>",
    "<input value='a b' type=submit>", "<plaintext>", "<![CDATA[", "]]>", "<?x", "<!doctype html>", "é", "日本",
]  # fmt: skip
# In a drawing these tags mean something else, which only a parser that builds the tree can tell: what is read as words
# then is write as words, so the page can differ.
DRAWN = {"<svg>", "</svg>", "<plaintext>"}
MARKED_UP = st.lists(st.sampled_from(PARTS), max_size=25).map("".join)


def as_shown(text: str) -> str:
    """What a browser makes of it, white space in words being one space."""
    return re.sub(r"\s+", " ", turbohtml.parse(text.replace("\r", "\n")).html)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("<p>open <b>never closed<p>next", "<p>X <b>X X<p>X"),
        ("1 < 2 & 3 > 2 &c &copy", "1 &lt; 2 &amp; 3 &gt; 2 &amp;X ©"),
        ("a </b> stray </i></p> b", "X </b> X </i></p> X"),
        ("<b>crossed <i>tags</b> here</i>", "<b>X <i>X</b> X</i>"),
        ("<p class=a id='b\" title=x>words", "<p class=a id='b\" title=x>words"),
        ("<a href=x title=Click>word</a", "<a href=x title=X>X</a"),
        ("words <a href='never closed", "X <a href='never closed"),
        ("words <!-- never closed", "X <!-- never closed"),
        ("words <script>let a = '<b>words'", "X <script>let a = '<b>words'"),
        ("<table>words<tr>more<td>cell<table><td>inner</table>", "<table>X<tr>X<td>X<table><td>X</table>"),
        ("</p>words</p></div></table>", "</p>X</p></div></table>"),
        ("<p>one</>two</ p>three<//p>four", "<p>X</>X</ p>X<//p>X"),
        ("<DIV TITLE=Word>Word</DIV>", "<DIV TITLE=X>X</DIV>"),
        ("<p title='one' title='two'>word", "<p title='X' title='two'>X"),
        ("<![CDATA[ words ]]> word", "<![CDATA[ words ]]> X"),
    ],
)
def test_malformed_markup_is_kept(text: str, answer: str) -> None:
    assert translate(text, TextFormat.HTML) == answer


@pytest.mark.parametrize(
    "text",
    [
        "", " \n ", "<br>", "&nbsp;", "<!-- words -->", "<script>words()</script>", "<style>p { word: 1 }</style>",
        "<code>a b</code>", "<pre><code>int main</code></pre>", "<svg><title>t</title><text>words</text></svg>",
        "<textarea>a value</textarea>", "<iframe>words</iframe>", "<noscript>words</noscript>", "<p><img src=x></p>",
        "<p translate=no>words</p>", "<p class='x notranslate'>words</p>", "<a href='words' data-title='words'></a>",
        "<input value='words'>", "<meta name=viewport content='words'>", "<plaintext>words", "<img alt='  '>",
        "<math><mi>x</mi></math>", "<div translate=no><img alt='words'></div>", "<?xml words?>", "\U000f0000 \U000f0001",
    ],
)  # fmt: skip
def test_text_without_words_has_no_block(text: str) -> None:
    assert parse(text, TextFormat.HTML).blocks == ()


@given(MARKED_UP | st.text())
def test_parts_join_to_the_text(text: str) -> None:
    assert source_of(parse(text, TextFormat.HTML)) == text


@given(st.lists(st.sampled_from([part for part in PARTS if part not in DRAWN]), max_size=25).map("".join))
def test_unchanged_words_give_the_same_page(text: str) -> None:
    assert as_shown(write(parse(text, TextFormat.HTML))) == as_shown(text)


@given(MARKED_UP)
def test_no_word_becomes_markup(text: str) -> None:
    document = parse(text, TextFormat.HTML)
    nasty = write(document, lambda words: words and "<b>&amp;\"'</p>")
    assert len(parse(nasty, TextFormat.HTML).parts) == len(document.parts)


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("<p>A <b>bold</b> word</p><p>Next</p>", ["A ⟦0⟧bold⟦1⟧ word", "Next"]),
        ("<p>\n  One sentence\n  in two lines\n</p>", ["One sentence in two lines"]),
        ("one<br>two<br/>three", ["one", "two", "three"]),
        ("<ul><li>one<li>two</ul>", ["one", "two"]),
        ("a &amp; b&nbsp;c &lt;d", ["a & b\u00a0c <d"]),
        ("use <code>a <b>c</b></code> here", ["use ⟦0⟧ here"]),
        ("<p>Use <code>never closed.</p><p>Next", ["Use ⟦0⟧", "Next"]),
        ("see <svg><title>t</title></svg> here", ["see ⟦0⟧ here"]),
        ("a <!-- c --> <img src=x> b", ["a ⟦0⟧ b"]),
        ("a <i class=x></i><i class=y></i> b", ["a ⟦0⟧ b"]),
        ("a <a><b>c</b></a> d", ["a ⟦0⟧c⟦1⟧ d"]),
        ("<title>T</title><select><option>O</select><button>B</button><table><caption>C<th>H</table>", [*"TOBCH"]),
        ("<figcaption>F</figcaption><legend>L</legend><summary>S</summary><label>l</label>", [*"FLSl"]),
        ("<x id=1/>and <g id=2>more</g> text", ["and ⟦0⟧more⟦1⟧ text"]),
        ("a &#10; b &emsp; c", ["a ⟦0⟧ b ⟦1⟧ c"]),
        ("<pre>one\n  two</pre>", ["one\n  two"]),
        ("a \U000f0000\U000f0001 b", ["a ⟦0⟧ b"]),
        ("a &#xf0000; b", ["a ⟦0⟧ b"]),
    ],
)
def test_blocks_hold_visible_words(text: str, blocks: list[str]) -> None:
    assert texts(parse(text, TextFormat.HTML)) == blocks


def test_no_break_spaces_keep_their_spelling() -> None:
    assert write(parse("a&nbsp;b", TextFormat.HTML)) == "a&nbsp;b"
    assert write(parse("a\u00a0b", TextFormat.HTML)) == "a\u00a0b"


HOSTILE = ["<", "<a", "<!--", "&", "</", '<a href="', "<script>", "<div>", "x<b>", "</b>x", "<b>x</b>", "<p>x", "a</>",
           "<table><td>", "<p><table><td><div>", "<span translate=no>x", "x\U000f0000", "<svg><p>", "<a b=c ", "\r\n"]  # fmt: skip


@pytest.mark.no_cover
@pytest.mark.parametrize("part", HOSTILE)
def test_long_repetition_is_parsed(part: str) -> None:
    text = part * (15_000 // len(part))
    assert source_of(parse(text, TextFormat.HTML)) == text
