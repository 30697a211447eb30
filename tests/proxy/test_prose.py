"""Words in markup: what the language is told by, and what needs no translation; in time that grows evenly."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.prose import ENOUGH_CHARS, MAX_SEEN_CHARS, words
from shared.wire import TextFormat

TEXT, HTML, MARKDOWN = TextFormat.TEXT, TextFormat.HTML, TextFormat.MARKDOWN

NOTHING: list[tuple[str, TextFormat]] = [
    ("", TEXT),
    (" \n\u3000", TEXT),
    ("123", TEXT),
    ("\U0001f600\U0001f468\u200d\U0001f469", TEXT),
    ("https://example.org/a?b=c", TEXT),
    ("<p> </p>", HTML),
    ("<p>123</p><hr class='words here'>", HTML),
    ("<!-- words --><br/>\n&nbsp;&middot;&#8212;", HTML),
    ("<script>let words = 'a > b';</script><style>p { color: red }</style>", HTML),
    ("<SCRIPT src=x>words</Script>", HTML),
    ("<pre><b>words</b></pre>1", HTML),
    ('<img src="words.png" alt="">', HTML),
    ("<a href='https://example.org/words'>\U0001f600</a>", HTML),
    ("```\nlet words\n```\n\n`words`\n", MARKDOWN),
    ("~~~ python\nwords\n~~~", MARKDOWN),
    ("[1](https://example.org/words) <https://example.org>", MARKDOWN),
    ("# 1\n\n* 2\n", MARKDOWN),
]
SOMETHING: list[tuple[str, TextFormat, str]] = [
    ("a", TEXT, "a"),
    ("<p>words</p>", TEXT, "<p>words</p>"),
    ("<p>Good <b>day</b></p>", HTML, "Good  day"),
    ('<img src="x" alt="A dog"><input placeholder=\'Your name\' title="So">', HTML, "A dog Your name So"),
    ("&Uuml;ber", HTML, "Über"),
    ("5 < six", HTML, "5 < six"),
    ("1 <b no end", HTML, "1 <b no end"),
    ("<!-- no end", HTML, "<!-- no end"),
    ("<code>1 words", HTML, "1 words"),
    ("<script>x</script>words", HTML, "words"),
    ("<scripture>words</scripture>", HTML, "words"),
    ("a<br>", MARKDOWN, "a"),
    ("[here](https://example.org) ![a dog](d.png)", MARKDOWN, "[here  ![a dog "),
    ("```\nno end", MARKDOWN, "` no end"),
    ("a `b` c", MARKDOWN, "a   c"),
]


@pytest.mark.parametrize(("text", "text_format"), NOTHING)
def test_what_has_no_words_outside_of_markup_and_code_needs_no_translation(text: str, text_format: TextFormat) -> None:
    assert words(text, text_format) is None


@pytest.mark.parametrize(("text", "text_format", "read"), SOMETHING)
def test_words_are_found_and_markup_is_not_among_them(text: str, text_format: TextFormat, read: str) -> None:
    found = words(text, text_format)
    assert found is not None
    assert found.split() == read.split()


@pytest.mark.parametrize("text_format", list(TextFormat))
def test_what_was_not_looked_at_counts_as_words(text_format: TextFormat) -> None:
    assert words("<br>" * (MAX_SEEN_CHARS // 4) + "5", text_format) is not None


@pytest.mark.parametrize(
    "unit",
    ["<", "<b", "<b>", "<!--", "-->", "<script>", "</script>", "<script>1", "`", "```\n", "](", "](a", "[", "&", "&amp",
     'alt="', "alt=", "title = '", "a", "1", "<!", "<img alt='", "~~~\n```\n", "\n", " "],
)  # fmt: skip
@pytest.mark.parametrize("text_format", list(TextFormat))
def test_time_is_bounded_whatever_a_text_repeats(unit: str, text_format: TextFormat) -> None:
    text = unit * (200_000 // len(unit))
    started = time.perf_counter()
    words(text, text_format)
    assert time.perf_counter() - started < 0.5


@given(st.text(max_size=60) | st.text("<>!-/'\"=`~[]() \nab1", max_size=60), st.sampled_from(TextFormat))
def test_any_text_is_words_or_none(text: str, text_format: TextFormat) -> None:
    found = words(text, text_format)
    assert found is None or len(found) <= ENOUGH_CHARS + 2 * len(text)


@given(st.text("<>!-/'\"= \nab1", max_size=60))
def test_a_word_before_any_markup_is_never_lost(text: str) -> None:
    for text_format in TextFormat:
        found = words(f"Straße {text}", text_format)
        assert found is not None
        assert found.startswith("Straße")
