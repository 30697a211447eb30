"""Words in markup: what the language is detected from, and what needs no translation; in time that grows evenly."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.protection.placeholders import Protection
from apiserver.segmentation.segmenter import Budget
from apiserver.translation.planner import Plan, TranslateOptions, plan_text
from proxy.routing.visible_text import ENOUGH_CHARS, MAX_SEEN_CHARS, visible_text
from shared.languages import LanguagePair
from shared.protocol.translate_request import TextFormat

TEXT, HTML, MARKDOWN = TextFormat.TEXT, TextFormat.HTML, TextFormat.MARKDOWN

NOTHING: list[tuple[str, TextFormat]] = [
    ("", TEXT),
    (" \n\u3000", TEXT),
    ("123", TEXT),
    ("\U0001f600\U0001f468\u200d\U0001f469", TEXT),
    ("https://example.org/a?b=c", TEXT),
    ("<p> </p>", HTML),
    ("<p>&#" + "0" * 900 + "49;&#" + "9" * 900 + ";</p>", HTML),
    ("# 1\n\n* 2\n", MARKDOWN),
    ("<p>42</p><br>\n", MARKDOWN),
]
# Code, comments, attributes and targets: where there could be words that only a parser finds.
DOUBTFUL: list[tuple[str, TextFormat]] = [
    ("<p>123</p><hr class='words here'>", HTML),
    ("<!-- words --><br/>\n&nbsp;&middot;&#8212;", HTML),
    ("<script>let words = 'a > b';</script><style>p { color: red }</style>", HTML),
    ("<SCRIPT src=x>words</Script>", HTML),
    ("<code class='x'>let words</code> <kbd>Enter</kbd>", HTML),
    ("<!-- <p>words</p> --><p><b>5 kg</b></p>", HTML),
    ("<pre><code>let words</code></pre>", HTML),
    ('<!doctype html><html lang="de"><head><meta charset="utf-8"><title>42</title></head></html>', HTML),
    ("<input type=text value='words'><meta name=viewport content='width=device-width'>", HTML),
    ('<img src="words.png" alt="">', HTML),
    ("<a href='https://example.org/words'>\U0001f600</a>", HTML),
    ("```\nlet words\n```\n\n`words`\n", MARKDOWN),
    ("~~~ python\nwords\n~~~", MARKDOWN),
    ("[1](https://example.org/words) <https://example.org>", MARKDOWN),
    ("[1](/docs/words) ![2](words.png) **5 kg**", MARKDOWN),
]
# What the API server translates, though most of it looks like markup, code or comments.
HIDDEN: list[tuple[str, TextFormat]] = [
    ("<pre>Good morning</pre>", HTML),
    ("<pre>Guten Morgen, wie geht es dir?</pre>", HTML),
    ("<img alt=dog>", HTML),
    ("<p title=Hello>42</p>", HTML),
    ('<input type=submit value="Good morning">', HTML),
    ('<input type="&#115;ubmit" value="Good morning">', HTML),
    ('<button aria-label="Good morning">\u00d7</button>', HTML),
    ('<meta name="description" content="Good morning">', HTML),
    ('<meta property="og:title" content="Good morning">', HTML),
    ("<track label='Good morning'>", HTML),
    ("<option label=Good>1</option>", HTML),
    ("<th abbr=Good>1</th>", HTML),
    ("<code translate=yes>Good morning</code>", HTML),
    ("<script translate=yes>Good morning <b></script>", HTML),
    ("<!-- a --!>Good morning<!-- b -->", HTML),
    ("<!-->Good morning<!-- b -->", HTML),
    ("<li><code>1<li>Good</code>", HTML),
    ('<b title="<code>">Good</b></code>', HTML),
    ("<code><!-- </code> <script> --></code>Good</script>", HTML),
    ("<script></\u017fcript><!-- </script>Good -->", HTML),
    ("<title><good></title>", HTML),
    ("<p>5</p><p>kg</p>", HTML),
    ("<b x='><i y=' title='Good'>1</b>", HTML),
    ("<p title='&copy=1'>1</p>", HTML),
    ("<p>{na&#1;me}</p>", HTML),
    ("\\`Good`", MARKDOWN),
    ("\\<good>", MARKDOWN),
    ("<!-- -->\n`Good\n\n`", MARKDOWN),
    ("<div>\n```\nGood\n```\n</div>", MARKDOWN),
    ("- 1\n  ```\n```\n2\n```\nGood\n```\n", MARKDOWN),
    ("<img alt=Good>", MARKDOWN),
    ("[1](u 'Good')", MARKDOWN),
    ("\\[1](Good)", MARKDOWN),
    ("[1](https://example.org)Good", MARKDOWN),
    ("`1``\n`Good`", MARKDOWN),
]
EN_DE = LanguagePair("en", "de")
BUDGET = Budget(max_tokens=10_000, max_sentences=100, count=len)
NO_PROTECTION = Protection.of((), {})
MARKUP = [
    "<", ">", "/", "!", "-", "--", "'", '"', "=", " ", "\n", "\r", "\t", "&", ";", "\\", "`", "```", "~~~", "[", "]",
    "](u)", "*", "_", "|", "$", "{", "}", "#", "1", "5", "kg", "a", "Good", "\x00", "\u2028", "\n\n", "- ", "> ",
    "  ", "---\n", "<p>", "</p>", "<b>", "</b>", "<li>", "<code>", "</code>", "<pre>", "</pre>", "<script>",
    "</script>", "<style>", "</style>", "<title>", "</title>", "<textarea>", "</textarea>", "<svg>", "</svg>", "<!--",
    "-->", "--!>", "<!-->", "<br>", "<b ", "<img ", "<input type=submit ", "<meta name=description ", " title=",
    " alt='", ' value="', " content=", "<code translate=yes>", "&#97;", "&#1;", "&lt;", "&nbsp;", "&copy",
    "<https://a.de>", "[1](", "![", "```\n", "\n```\n", "`a`", "[1](a)", "<!a>", "<?", "</", "</ a>",
    "<title>1</title>", "<![CDATA[", "]]>", "\n+++\n", "[^1]", "[1]: ",
]  # fmt: skip
DOCUMENTS = st.lists(st.sampled_from(MARKUP), max_size=14).map("".join)

SOMETHING: list[tuple[str, TextFormat, str]] = [
    ("a", TEXT, "a"),
    ("<p>words</p>", TEXT, "<p>words</p>"),
    ("<p>Good <b>day</b></p>", HTML, "Good  day"),
    ('<img src="x" alt="A dog"><input placeholder=\'Your name\' title="So">', HTML, "A dog Your name So"),
    ("&Uuml;ber", HTML, "Über"),
    ("5 < six", HTML, "5 < six"),
    ("a &#" + "9" * 5000, HTML, "a \ufffd"),
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
def test_markup_without_words_has_no_visible_text(text: str, text_format: TextFormat) -> None:
    assert visible_text(text, text_format) is None


@pytest.mark.parametrize(("text", "text_format"), DOUBTFUL)
def test_markup_that_may_hold_words_is_doubtful(text: str, text_format: TextFormat) -> None:
    assert visible_text(text, text_format) == ""


@pytest.mark.parametrize(("text", "text_format", "read"), SOMETHING)
def test_visible_text_excludes_markup(text: str, text_format: TextFormat, read: str) -> None:
    found = visible_text(text, text_format)
    assert found is not None
    assert found.split() == read.split()


@pytest.mark.parametrize(("text", "text_format"), HIDDEN)
def test_text_translated_by_api_server_is_never_ruled_out(text: str, text_format: TextFormat) -> None:
    assert visible_text(text, text_format) is not None


def has_segments(plan: Plan) -> bool:
    return bool(plan.segment_indices) or any(has_segments(inner.plan) for inner in plan.nested)


@pytest.mark.parametrize(("text", "text_format"), [*NOTHING, *DOUBTFUL])
def test_api_server_finds_no_words_either(text: str, text_format: TextFormat) -> None:
    assert not has_segments(plan_text(text, EN_DE, TranslateOptions(text_format, NO_PROTECTION), BUDGET))


@given(DOCUMENTS, st.sampled_from([HTML, MARKDOWN]))
def test_markup_never_hides_translated_text(text: str, text_format: TextFormat) -> None:
    if visible_text(text, text_format) is None:
        assert not has_segments(plan_text(text, EN_DE, TranslateOptions(text_format, NO_PROTECTION), BUDGET))


@pytest.mark.parametrize("text_format", list(TextFormat))
def test_text_beyond_the_limit_counts_as_words(text_format: TextFormat) -> None:
    assert visible_text("<br>" * (MAX_SEEN_CHARS // 4) + "5", text_format) is not None


UNITS = ["<", "<b", "<b>", "<!--", "-->", "<script>", "</script>", "<script>1", "`", "```\n", "](", "](a", "[", "&", "&amp",
         "<p ", "<!-- -->", "<b>1</b>", "<title>", "`1`", "[1](a)", "<code>1</code>", "&#1", "&#x0", 'alt="', "alt=", "title = '", "a", "1", "<!", "<img alt='", "~~~\n```\n", "\n", " "]  # fmt: skip


@pytest.mark.parametrize("text_format", list(TextFormat))
def test_time_is_bounded_for_repeated_units(text_format: TextFormat) -> None:
    for unit in UNITS:
        text = unit * (200_000 // len(unit))
        started = time.process_time()
        visible_text(text, text_format)
        visible_text(f"<a {text}>", text_format)
        assert time.process_time() - started < 0.5, unit


@given(st.text(max_size=60) | st.text("<>!-/'\"=`~[]() \nab1", max_size=60), st.sampled_from(TextFormat))
def test_any_text_has_visible_text_or_none(text: str, text_format: TextFormat) -> None:
    found = visible_text(text, text_format)
    assert found is None or len(found) <= ENOUGH_CHARS + 2 * len(text)


@given(st.text("<>!-/'\"= \nab1", max_size=60))
def test_word_before_markup_is_kept(text: str) -> None:
    for text_format in TextFormat:
        found = visible_text(f"Straße {text}", text_format)
        assert found is not None
        assert found.startswith("Straße")
