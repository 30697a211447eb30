"""Words and emphasis written as Markdown."""

from __future__ import annotations

import re

import pytest

from apiserver.formats.document import placeholder_char
from apiserver.formats.parser import parse
from shared.protocol.translate_request import TextFormat
from tests.apiserver.formats.browser import RENDERED
from tests.apiserver.formats.reassembly import translate, write


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
@pytest.mark.parametrize("words", NASTY)
@pytest.mark.parametrize(
    "text",
    ["a\n", "# a\n", "a\n===\n", "- a\n", "- [ ] a\n", "> a\n", "| a |\n|---|\n", "![a](b)\n", "x *a* x\n", "[ref] a\n\n[ref]: /x\n"],
)  # fmt: skip
def test_no_word_becomes_syntax(text: str, words: str) -> None:
    plain, nasty = shown_with(text, "word"), shown_with(text, f"x {words}" if "*" in text else words)
    assert re.findall(r"<\w+", nasty) == re.findall(r"<\w+", plain)


@pytest.mark.parametrize(
    "words", ["C#", "a_b", "5 * 3", "a < b", "AT&T", "C:\\dir", "costs $5", "a - b", "1.5", "#1", "a!"]
)
def test_words_without_syntax_are_not_escaped(words: str) -> None:
    assert translate("a\n", TextFormat.MARKDOWN, words) == f"{words}\n"
    assert translate("[a] b\n", TextFormat.MARKDOWN, words) == f"[{words}] {words}\n"
