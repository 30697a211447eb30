"""The matcher: it finds all that an API server finds, whatever the markup, and a naive search is its judge."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.formats.document import Block, Part
from apiserver.formats.parser import parse
from apiserver.protection.glossary import GlossaryMatcher
from proxy.glossaries import matcher
from proxy.glossaries.matcher import UNSPACED, TermMatcher
from shared.protocol.translate_request import TextFormat
from shared.runtime.turns import finish

WORD = re.compile(rf"[^\W_{UNSPACED}]")
PIECES = [
    *("a", "b", "ab", "ba", "A", "ß", "ẞ", "SS", "ss", "İ", "ı", "i", "Σ", "ς", "σ", "é", "e\u0301", "ŉ", "ﬁ"),
    *("東", "京", "東京", "の", "ไทย", "한", "국", "ａ", "𠮷", "ͅ", "α", "Ⅷ", "²", "Ⓐ"),
    *(" ", "  ", "\n", "\t", "-", "_", "&", ".", "→", "+", "'", "\u00ad", "\u200b", "\U000f0000", "\0", "1"),
]
MARKUP = ["<b>", "</b>", "<br>", "&amp;", "&nbsp;", "&#65;", "&szlig;", "&lt;", "<!-- a -->", "\n> ", "**", "*", "\\_"]
phrases = st.lists(st.sampled_from(PIECES), min_size=1, max_size=4).map("".join).filter(str.strip)


def find(entries: Iterable[str], *texts: str, text_format: TextFormat = TextFormat.TEXT) -> list[str]:
    matcher = finish(TermMatcher.build(dict.fromkeys(entries, "x")))
    return finish(matcher.find(texts, text_format))


def found_by_an_api_server(entries: Iterable[str], text: str, text_format: TextFormat) -> set[str]:
    """Return the entries that an API server replaces when each is the only one."""
    blocks = [text] if text_format is TextFormat.TEXT else list(block_texts(parse(text, text_format).parts))
    alone: Mapping[str, GlossaryMatcher] = {entry: GlossaryMatcher.of([], {entry: "x"}) for entry in entries}
    return {entry for entry, matcher in alone.items() for block in blocks if any(matcher.find(block))}


def block_texts(parts: Iterable[Part]) -> Iterable[str]:
    for part in parts:
        if isinstance(part, Block):
            yield part.text
            for placeholder in part.placeholders:
                yield from block_texts(placeholder.inner_parts)


@given(st.lists(phrases, max_size=8), st.lists(st.sampled_from(PIECES), max_size=20).map("".join))
def test_parts_of_a_text_hide_nothing(entries: list[str], text: str) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(matcher, "PART_TOKENS", 1)
        in_parts = find(entries, text)
    assert in_parts == find(entries, text)


@given(st.lists(phrases, max_size=8), st.lists(st.sampled_from(PIECES), max_size=20).map("".join))
def test_all_is_found_that_a_naive_search_finds(entries: list[str], text: str) -> None:
    assert found_by_an_api_server(entries, text, TextFormat.TEXT) <= set(find(entries, text))


@given(
    st.lists(phrases, max_size=8),
    st.lists(st.sampled_from(PIECES + MARKUP), max_size=20).map("".join),
    st.sampled_from([TextFormat.HTML, TextFormat.MARKDOWN]),
)
def test_markup_hides_nothing(entries: list[str], text: str, text_format: TextFormat) -> None:
    assert found_by_an_api_server(entries, text, text_format) <= set(find(entries, text, text_format=text_format))


@pytest.mark.no_cover
def test_case_folding_joins_no_words() -> None:
    """For all characters: equal in lower case is equal when folded, and an end of a word stays one."""
    matcher = GlossaryMatcher.of([], {"x": "y"})
    for code in range(sys.maxunicode + 1):
        char = chr(code)
        assert char.lower().casefold() == char.casefold()
        if WORD.search(char.casefold()):
            assert not list(matcher.find(f"{char}x")), f"U+{code:04X} is in a word here, and ends one in API servers"


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        ("invoice", "Your INVOICE."),
        ("Straße", "STRASSE"),
        ("ΟΔΟΣ", "Η οδός: οδος"),
        ("R&D", "our r&d team"),
        ("C++", "in C++, mostly"),
        ("++", "a ++ b"),
        ("→", "a→b"),
        ("京都", "東京都"),
        ("terms of use", "the terms\n  of use"),
        ("한국", "한국어"),
        (" invoice ", "invoice"),
        ("a b", "a-b"),
    ],
)
def test_entry_is_found(entry: str, text: str) -> None:
    assert find([entry, "absent"], text) == [entry]


@pytest.mark.parametrize(
    ("entry", "text"),
    [("invoice", "invoices"), ("voice", "invoice"), ("use of", "use off"), ("+++", "++"), ("a b c", "a b"), ("x", "")],
)
def test_entry_is_not_found(entry: str, text: str) -> None:
    assert find([entry], text) == []


@pytest.mark.parametrize(
    ("text", "text_format"),
    [
        ("<p>R&amp;D <i>costs</i></p>", TextFormat.HTML),
        ("R&#38;D", TextFormat.XML),
        ("R&amp;D", TextFormat.MARKDOWN),
        ('<img alt="the r&amp;d team">', TextFormat.HTML),
    ],
)
def test_entry_behind_a_character_reference_is_found(text: str, text_format: TextFormat) -> None:
    assert find(["R&D"], text, text_format=text_format) == ["R&D"]


def test_longest_come_first_and_variants_as_written() -> None:
    entries = ["b", "a", "a b", "B", "a b c", "b c", "a b d"]
    assert find(entries, "a b c", "") == ["a b c", "a b", "b c", "a", "b", "B"]


def test_prefixes_of_entries_that_do_not_match_are_found() -> None:
    assert find(["a b", "a b c d", "a b c d e", "a b c e"], "a b c d x", "a b c dd") == ["a b c d", "a b"]


@given(st.lists(st.integers(1, 60), unique=True, max_size=40), st.lists(st.integers(0, 70), max_size=8))
def test_every_prefix_among_the_entries_is_found(lengths: list[int], shared: list[int]) -> None:
    chain = "".join(chr(0x4E00 + n) for n in range(70))
    text = "鿿".join(chain[:length] for length in shared)
    assert set(find([chain[:length] for length in lengths], text)) == {
        chain[:length] for length in lengths if length <= max(shared, default=0)
    }


def test_empty_dictionary_and_empty_text_match_nothing() -> None:
    assert find([], "a") == []
    assert find(["a"]) == []


@pytest.mark.no_cover
def test_hostile_texts_and_entries_are_bounded() -> None:
    """Each would take minutes if every entry were compared at every place."""
    nested = [("a " * n)[:200].strip() for n in range(1, 101)]
    alike = [f"{'a ' * 90}{n}" for n in range(9_900)]
    assert len(find(nested + alike, "a " * 100_000)) == 100
    chars = [f"{'東' * 190}{n:04d}" for n in range(10_000)]
    assert find(chars, "東" * 200_000) == []
    chain = ["".join(chr(0x4E00 + n) for n in range(length)) for length in range(2, 201)]
    assert find(chain, f"{chain[0]}鿿" * 66_666) == chain[:1]
    assert find(["x"], "&" * 200_000, text_format=TextFormat.HTML) == []
    assert find(["x"], "&#" + "9" * 200_000, text_format=TextFormat.HTML) == []
