"""Markdown: its events, its blocks, and how words are written back."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.formats.document import Block, PlaceholderKind, placeholder_char
from apiserver.formats.markdown_events import EventKind, defines_references, markdown_events
from apiserver.formats.markdown_reader import Spans
from apiserver.formats.parser import parse
from shared.protocol.translate_request import TextFormat
from tests.apiserver.formats.browser import RENDERED, as_shown
from tests.apiserver.formats.reassembly import source_of, texts, translate, write


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("see [Words] here\n\n[words]: /u\n", "X [X][Words] X\n\n[words]: /u\n"),
        ("[Words][]\n\n[words]: /u\n", "[X][Words]\n\n[words]: /u\n"),
        ("[a][words]\n\n[words]: /u\n", "[X][words]\n\n[words]: /u\n"),
        ("![words] ![words][] a\n\n[words]: /u\n", "![words] ![words][] X\n\n[words]: /u\n"),
    ],
)
def test_link_keeps_its_definition(text: str, answer: str) -> None:
    assert translate(text, TextFormat.MARKDOWN) == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("> a\n> *b* c\n\ntext", "> X *X* X\n\nX"),
        ("* a\n\n  b\n\n      code\n", "* X\n\n  X\n\n      code\n"),
        ("| a |\n|---|\n| b |\n", "| X |\n|---|\n| X |\n"),
        ('[a b](/u "tip here")\n', '[X X](/u "X X")\n'),
        ("![a b](/u 'tip')\n", "![X X](/u 'X')\n"),
        (
            "<details>\n<summary>a</summary>\n\nb\n\n</details>\n",
            "<details>\n<summary>X</summary>\n\nX\n\n</details>\n",
        ),
        ("> <div>\n> a\n> </div>\n\nb", "> <div>\n> a\n> </div>\n\nX"),
        ("![](a 'b') ![`a`](b) ![a](b 'c\\'d') ![a](b ' ') a", "![](a 'b') ![`a`](b) ![X](b 'c\\'d') ![X](b ' ') X"),
        ("line  \r\nline\r\n\r\nnext\r\n", "X  \r\nX\r\n\r\nX\r\n"),
    ],
)
def test_syntax_is_kept(text: str, answer: str) -> None:
    assert translate(text, TextFormat.MARKDOWN) == answer


def test_tags_are_paired_and_code_is_a_name() -> None:
    (block,) = parse("a [**b**](c) `d` <br/>\n", TextFormat.MARKDOWN).blocks
    assert [(placeholder.kind, placeholder.source) for placeholder in block.placeholders] == [
        (PlaceholderKind.OPEN, "[**"),
        (PlaceholderKind.CLOSE, "**](c)"),
        (PlaceholderKind.NAME, "`d`"),
    ]


SPANS = Spans(re.compile("x+"), "axxbxa")


@pytest.mark.parametrize(("offset", "span"), [(0, None), (1, (1, 3)), (2, (1, 3)), (3, None), (4, (4, 5)), (5, None)])
def test_span_at_an_offset(offset: int, span: tuple[int, int] | None) -> None:
    assert SPANS.at(offset) == span


@pytest.mark.parametrize(
    ("start", "end", "parts"),
    [
        (0, 6, [(None, 0, 1), ((1, 3), 1, 3), (None, 3, 4), ((4, 5), 4, 5), (None, 5, 6)]),
        (2, 4, [((1, 3), 2, 3), (None, 3, 4)]),
        (5, 6, [(None, 5, 6)]),
        (3, 3, []),
    ],
)
def test_parts_within_offsets(start: int, end: int, parts: list[tuple[tuple[int, int] | None, int, int]]) -> None:
    assert list(SPANS.within(start, end)) == parts


WHOLE = [
    "*b*", "**c d**", "`code`", '[l](/u "t u")', "[m *n*](/u)", "<b>x</b>", "&amp;", "\\*", "\\_", "\\[", "\\#", "\\`", "a",
    "word ", "two words ", "。", "日本 ", "(x)", " ", "\n", "\n\n", "\n\n", "\n# ", "\n> ", "\n- ", "\n1. ", "~~s~~",
    "\n\n| a *b* | c |\n|---|---|\n| c\\|d | `d` |\n\n", "$x$", "https://x.y/z", "www.a_b.c ", "1. ", "+ ", "<br>", "5 * 3 ",
    "snake_case", "!", " C#", "#1", "~5", "$5 ", "<3", "a < b", "AT&T", "R&D;", "_", "![alt](x)", "[ref] ", "[ref][] ",
    "[t][ref] ", "\n\n[ref]: /x\n\n", "[^1]", "\n\n[^1]: note\n\n", "  \n", "\\\n", "é", "\n\n<div>\nx <b>y</b>\n</div>\n\n",
    "\n\n```\ncode\n```\n\n", " - ", "- [ ] ", "\n===\n", "\n---\n", ": x", " | ", "\n:::note\n", " {#id}\n", "\r\n",
]  # fmt: skip
BROKEN = ["*", "**", "_", "`", "~~", "[", "](", "]", ")", "<", "&", "\\", "|", "$", "![", "\n|-|-|\n", "```\n", "<!--",
          "-->", "<i translate=no>", "</i>", "\0", "\ud800", "\U000f0001", "\t", "    ", "<div>", "</div>", ":::"]  # fmt: skip
WELL_FORMED = st.lists(st.sampled_from(WHOLE), max_size=20).map("".join)
ANYTHING = st.lists(st.sampled_from([*WHOLE, *BROKEN]), max_size=25).map("".join) | st.text()


@given(ANYTHING)
def test_parts_join_to_the_text(text: str) -> None:
    assert source_of(parse(text, TextFormat.MARKDOWN)) == text


@given(ANYTHING)
def test_any_text_can_be_written(text: str) -> None:
    assert isinstance(translate(text, TextFormat.MARKDOWN), str)


@given(WELL_FORMED)
def test_unchanged_words_give_the_same_page(text: str) -> None:
    assert as_shown(write(parse(text, TextFormat.MARKDOWN))) == as_shown(text)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("**never closed\n\nnext*", "\\*\\*X X\n\nX\\*"),
        ("[never closed](http://x", "[X X\\](http://x"),
        ("a ` b ``c", "X &#96; X &#96;&#96;X"),
        ("| a | b\n|---|\nc | d", "| X | X\n|---|\nX | X"),
        ("```\nnever closed\n", "```\nnever closed\n"),
        ("<div>never closed\n\nwords <b>x", "<div>X X\n\nX <b>X"),
        ("#not a heading\n####### nor this", "#X X X ####### X X"),
        ("a <b c", "X \\<X X"),
    ],
)
def test_malformed_markdown_is_kept(text: str, answer: str) -> None:
    assert translate(text, TextFormat.MARKDOWN) == answer


@pytest.mark.parametrize(
    "text",
    [
        "", "\n\n", "```\nwords\n```\n", "    words\n", "---\ntitle: words\n---\n", "+++\na = 1\n+++\n", "* * *\n",
        '[words]: /words "words"\n', "`words`\n", "<https://words.org>\n", "https://words.org/a_b*c\n", "$words$\n",
        "<!-- words -->\n", "<script>\nwords\n</script>\n", "<b class=x></b>\n", "[^1]\n\n[^1]: `x`\n", "![](words)\n",
        ":::words\n:::\n", "{% words %}\n", "<p translate=no>words</p>\n", "|`a`|\n|---|\n",
    ],
)  # fmt: skip
def test_text_without_words_has_no_block(text: str) -> None:
    assert parse(text, TextFormat.MARKDOWN).blocks == ()


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("# Head #\n\nText *in* it\n", ["Head", "Text ⟦0⟧in⟦1⟧ it"]),
        ("Head\n===\n", ["Head"]),
        ("one\ntwo  three\n", ["one two three"]),
        ("> one\n> two\nlazy\n", ["one two lazy"]),
        ("one  \ntwo\\\nthree<br>four\n", ["one", "two", "three", "four"]),
        ("- a\n- [ ] b\n  c\n\n  d\n", ["a", "b c", "d"]),
        ("1. a\n   - b\n", ["a", "b"]),
        ("| a | b |\n|---|:-:|\n| c \\| d | `e` |\n", ["a", "b", "c | d"]),
        ("a \\* b &amp; c &lt;", ["a * b & c <"]),
        ("a `b` c $d$ e <http://f.g> h https://i.j/k_l*m. n", ["a ⟦0⟧ c ⟦1⟧ e ⟦2⟧ h ⟦3⟧. n"]),
        ("a [b](c) d ![e](f) g[^1]\n\n[^1]: h\n", ["e", "a ⟦0⟧b⟦1⟧ d ⟦2⟧ g", "h"]),
        ('![pic](x "tip") a [b](c "t")', ["pic", "tip", "t", "a ⟦0⟧b⟦1⟧"]),
        ("a <b>b</b> c <span translate=no>d *e*</span>", ["a ⟦0⟧b⟦1⟧ c ⟦2⟧"]),
        ("<div translate=no>\n\na\n\n</div>\n\nb\n", ["b"]),
        ("<p align=center>\nA <b>b</b>\n</p>\n\nc\n", ["A ⟦0⟧b⟦1⟧", "c"]),
        ("term\n: definition\n", ["term", "definition"]),
        (":::note\na\nb\n:::\nc\n", ["a b", "c"]),
        ("# Head {#id}\n", ["Head"]),
        ("> [!NOTE]\n> a\n", ["a"]),
        ("> [!info] Title\n> a\n", ["a"]),
        ("---\nt: x\n---\na\n", ["a"]),
        ("a \ud800 *b* é\n", ["a \ud800 ⟦0⟧b⟦1⟧ é"]),
        ("a &#10; b \U000f0000 c\n", ["a ⟦0⟧ b ⟦1⟧ c"]),
    ],
)
def test_blocks_hold_visible_words(text: str, blocks: list[str]) -> None:
    blocks_found = texts(parse(text, TextFormat.MARKDOWN))
    assert [re.sub(r"^⟦\d+⟧ (?=a)", "", block) for block in blocks_found] == blocks


def test_words_in_an_html_block_cannot_end_it() -> None:
    assert translate("<div>\nword\n</div>\n", TextFormat.MARKDOWN, "x\n\n# y") == "<div>\nx  # y\n</div>\n"


HOSTILE = ["[", "*", "> ", "- ", "_a ", "`", "<!--", "![", "[a](", "[a](b) ", "*a* ", "$a", "|", "a|b\n", "\\*", "1. ",
           "> a\n", "<b>x", "<div>\n\n", "|a|\n|-|\n", "https://", "www.", ":::\n", "{#a", "[!x] a\n", "x\U000f0000",
           "<i translate=no>a\n\n", '[a](b "', "é"]  # fmt: skip


@pytest.mark.no_cover
@pytest.mark.parametrize("part", HOSTILE)
def test_long_repetition_is_parsed(part: str) -> None:
    text = part * (10_000 // len(part))
    assert source_of(parse(text, TextFormat.MARKDOWN)) == text


def test_inner_blocks_come_before_their_block() -> None:
    blocks = parse('a ![alt](x "title") b', TextFormat.MARKDOWN).blocks
    assert all(isinstance(block, Block) for block in blocks)
    assert [block.source for block in blocks] == ["alt", "title", 'a ![alt](x "title") b']


@pytest.mark.parametrize("text", ["a *b* c", "é *日本* 🎉", "\ud800 *b*"])
def test_offsets_count_characters(text: str) -> None:
    (start,) = [event for event in markdown_events(text) if event.kind is EventKind.START and event.tag == "Emphasis"]
    assert text[start.start] == text[start.end - 1] == "*"
    assert start.start == text.index("*")


@pytest.mark.parametrize(("text", "expected"), [("[a]: /x\n", True), ("[a](/x)\n", False)])
def test_definitions_are_found(text: str, expected: bool) -> None:
    assert defines_references(text) is expected


def test_links_know_their_kind() -> None:
    kinds = [event.detail for event in markdown_events("[a](/x) [b]\n\n[b]: /y\n") if event.tag == "Link"]
    assert [kind for kind in kinds if kind] == ["Inline", "Shortcut"]


@pytest.mark.parametrize(
    ("translation", "answer"),
    [
        ("これは{重要です。}次", "これは<strong>重要です。</strong>次"),
        ("これは{「重要」}です", "これは<strong>「重要」</strong>です"),
        ("これは{重要}です。", "これは**重要**です。"),
        ("a{ b }c", "a **b** c"),
        ("{a}", "**a**"),
        ("a {} b", "a <strong></strong> b"),
    ],
)
def test_emphasis_works_next_to_any_letter(translation: str, answer: str) -> None:
    (block,) = parse("a **b** c\n", TextFormat.MARKDOWN).blocks
    text = translation.replace("{", placeholder_char(0)).replace("}", placeholder_char(1))
    assert block.write(text) == answer


def test_neighbouring_emphasis_stays_apart() -> None:
    (block,) = parse("x *a* *b* x\n", TextFormat.MARKDOWN).blocks
    assert block.write(block.text.replace(" ", "")) == "x<em>a</em><em>b</em>x"


def shown_with(text: str, words: str) -> str:
    """What a browser shows of a text, all words replaced by these."""
    return RENDERED.html(write(parse(text, TextFormat.MARKDOWN), lambda part: words if part.strip() else part))


NASTY = ["# x", "- x", "+", "1. x", "12) x", "> x", "---", "===", "```", "~~~", ": x", "::: x", "*x*", "**x**", "_x_", "__x__",
         "`x`", "[x](y)", "[x]: y", "[ref]", "[^1]", "<b>", "</b>", "<!-- x", "&amp;", "&#35;", "~~x~~", "$x$ $y$", "x\\",
         "\\*", "x\n\n- y", "\n# y", "![x](y)", "<http://x.y>", "[ ] x", "x #", "|", "x|y", "!", "\\"]  # fmt: skip


@pytest.mark.no_cover
@pytest.mark.parametrize(
    "text",
    ["a\n", "# a\n", "a\n===\n", "- a\n", "- [ ] a\n", "> a\n", "| a |\n|---|\n", "![a](b)\n", "x *a* x\n", "[ref] a\n\n[ref]: /x\n"],
)  # fmt: skip
def test_no_word_becomes_syntax(text: str) -> None:
    plain = re.findall(r"<\w+", shown_with(text, "word"))
    shown = {words: shown_with(text, f"x {words}" if "*" in text else words) for words in NASTY}
    assert {words: nasty for words, nasty in shown.items() if re.findall(r"<\w+", nasty) != plain} == {}


@pytest.mark.parametrize(
    "words", ["C#", "a_b", "5 * 3", "a < b", "AT&T", "C:\\dir", "costs $5", "a - b", "1.5", "#1", "a!"]
)
def test_words_without_syntax_are_not_escaped(words: str) -> None:
    assert translate("a\n", TextFormat.MARKDOWN, words) == f"{words}\n"
    assert translate("[a] b\n", TextFormat.MARKDOWN, words) == f"[{words}] {words}\n"
