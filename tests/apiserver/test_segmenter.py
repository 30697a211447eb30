"""Segments: exact, within the budget, sentence by sentence; and how their translations stand together."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from apiserver.formats.document import placeholder_char
from apiserver.segmentation.rejoin import separator
from apiserver.segmentation.segmenter import (
    CHARS_PER_TOKEN,
    Budget,
    Segment,
    TextPart,
    segment,
    split_segment,
)
from apiserver.segmentation.text_boundaries import cluster_ends
from tests.text_skeleton import skeleton

MODELS = Path(__file__).parents[2] / "models"
OPEN, CLOSE = placeholder_char(0), placeholder_char(1)
FAMILY = "👩‍👩‍👧‍👦"
HARD = re.compile(r"\s{2,}|[^\S \u00a0\u202f]")
LANGUAGES = st.sampled_from(["en", "de", "fr", "it", "ja", "zh-Hant", "th", "ar", "km", "da", "und", ""])
# Anything that a str may hold, and often what has a meaning here.
TEXTS = st.lists(
    st.sampled_from(
        [
            *" \u00a0\u202f\t\n\u2028\u3000\0.!?…,;:'\"“”«»()「」。！？、，؟،।1é漢ก\u0301\u200d🇩\ud83d\ude00",
            *f"{OPEN}{CLOSE}\U0010fffd\U0010ffff",
            *[
                "\n\n",
                "\r\n",
                ". ",
                "A ",
                "The end",
                "Dr. ",
                "z. B. ",
                "M\u00a0. ",
                "x" * 40,
                FAMILY,
                "e" + "\u0301" * 30,
            ],
        ]
    )
    | st.characters(),
    max_size=60,
).map("".join)


def utf8(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def by_bytes(max_tokens: int, max_sentences: int | None = None) -> Budget:
    return Budget(max_tokens, max_sentences, utf8)


def texts(pieces: list[TextPart]) -> list[str]:
    return [piece.text for piece in pieces if isinstance(piece, Segment)]


def joined(pieces: list[TextPart]) -> str:
    return "".join(piece.text if isinstance(piece, Segment) else piece for piece in pieces)


def check_layout(pieces: list[TextPart], text: str) -> None:
    assert joined(pieces) == text
    for piece in texts(pieces):
        assert piece
        assert piece == piece.strip()
        assert not HARD.search(piece)
    for first, second in pairwise(pieces):
        assert isinstance(first, Segment) != isinstance(second, Segment)
    assert all(piece.isspace() or not piece for piece in pieces if isinstance(piece, str))


@given(TEXTS, LANGUAGES, st.integers(1, 120), st.none() | st.integers(1, 3))
@settings(max_examples=400, deadline=None)
def test_any_text_comes_apart_into_segments_within_the_budget_and_together_exactly(
    text: str, language: str, max_tokens: int, max_sentences: int | None
) -> None:
    budget = by_bytes(max_tokens, max_sentences)
    pieces = segment(text, language, budget)
    check_layout(pieces, text)
    assert all(utf8(piece) <= max_tokens or len(piece) == 1 for piece in texts(pieces))
    assert pieces == segment(text, language, budget)


@given(TEXTS, LANGUAGES)
@settings(max_examples=200, deadline=None)
def test_no_grapheme_cluster_within_the_budget_is_cut(text: str, language: str) -> None:
    position = 0
    ends = {0, *cluster_ends(text)}
    for piece in segment(text, language, by_bytes(150)):
        if isinstance(piece, str):
            position += len(piece)
            continue
        # White space may be what a combining mark stands on; it is taken off all the same.
        assert position in ends or text[position - 1].isspace()
        position += len(piece.text)
        assert position in ends or text[position].isspace()


@given(TEXTS, LANGUAGES, st.integers(1, 60))
@settings(max_examples=200, deadline=None)
def test_whatever_the_segments_become_the_white_space_stays(text: str, language: str, max_tokens: int) -> None:
    pieces = segment(text, language, by_bytes(max_tokens))
    assert skeleton("".join("ein Wort" if isinstance(piece, Segment) else piece for piece in pieces)) == skeleton(text)


@given(TEXTS, LANGUAGES)
@settings(max_examples=200, deadline=None)
def test_a_segment_is_cut_into_smaller_ones_until_one_cluster_is_left(text: str, language: str) -> None:
    for whole in texts(segment(text, language, by_bytes(400))):
        pieces = split_segment(whole, language)
        check_layout(pieces, whole)
        assert len(texts(pieces)) > 1 or len(cluster_ends(whole)) == 1


@pytest.mark.parametrize("text", ["", " ", "\n", "\u00a0", " \t\r\n "])
def test_a_blank_text_has_no_segments(text: str) -> None:
    assert segment(text, "en", by_bytes(10)) == ([text] if text else [])
    assert skeleton(text) == [text]


@pytest.mark.parametrize(
    "unit", ["\u0301", "a\u200d", OPEN, "\ud800", "\0", "“", "'", '"‚', ".", ",", "1. ", "ก", "漢", "\U0010ffff"]
)
def test_200_000_hostile_characters_come_apart_and_together(unit: str) -> None:
    text = (unit * 200_000)[:200_000]
    pieces = segment(text, "en", by_bytes(200))
    assert joined(pieces) == text
    assert all(utf8(piece) <= 200 for piece in texts(pieces))


def test_a_segment_has_a_bound_in_characters_even_where_the_tokenizer_counts_nothing() -> None:
    pieces = texts(segment("a" * 10_000, "en", Budget(10, None, lambda _: 0)))
    assert max(map(len, pieces)) <= 10 * CHARS_PER_TOKEN


def test_a_character_over_the_budget_is_a_segment_all_the_same() -> None:
    assert segment("漢字", "ja", by_bytes(1)) == [Segment("漢"), "", Segment("字")]


def test_lines_are_segments_of_their_own_and_what_separates_them_stays() -> None:
    text = "  One. Two.\r\n\r\n\tThree\u2028Four  five\u00a0six "
    assert segment(text, "en", by_bytes(100)) == [
        "  ",
        Segment("One. Two."),
        "\r\n\r\n\t",
        Segment("Three"),
        "\u2028",
        Segment("Four"),
        "  ",
        Segment("five\u00a0six"),
        " ",
    ]
    assert skeleton(text) == ["  ", "\r\n\r\n\t", "\u2028", "  ", " "]


def test_sentences_share_segments_as_far_as_tokens_and_sentences_allow() -> None:
    text = "One is here. Two is here. Three is here. Four is here."
    assert texts(segment(text, "en", by_bytes(26))) == ["One is here. Two is here.", "Three is here.", "Four is here."]
    assert texts(segment(text, "en", by_bytes(100, 1))) == [
        sentence + " is here." for sentence in ("One", "Two", "Three", "Four")
    ]
    assert texts(segment(text, "en", by_bytes(100))) == [text]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1. One is. 2. Two is.", ["1. One is.", "2. Two is."]),
        ("One is. !!! Two is. 3.", ["One is. !!!", "Two is. 3."]),
        (f"One is. {OPEN}{CLOSE}", [f"One is. {OPEN}{CLOSE}"]),
        ("1. 2. 3.", ["1. 2. 3."]),
    ],
)
def test_what_has_no_letters_goes_with_its_neighbour(text: str, expected: list[str]) -> None:
    assert texts(segment(text, "en", by_bytes(100, 1))) == expected


def test_what_has_no_letters_stays_alone_where_it_does_not_fit() -> None:
    assert texts(segment("One is here. !!!!!!!!!!", "en", by_bytes(12))) == ["One is here.", "!!!!!!!!!!"]


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        (
            "en",
            "The fox, which was red, jumped over the lazy dog: it was late",
            ["The fox, which was red,", "jumped over the lazy dog:", "it was late"],
        ),
        ("ar", "ذهبنا إلى البيت، ثم أكلنا الطعام", ["ذهبنا إلى البيت،", "ثم أكلنا الطعام"]),
        ("zh", "我们去看书，然后回家因为很晚了", ["我们去看书，", "然后回家因为很晚了"]),
        ("th", "ประเทศไทยมีอากาศร้อน", ["ประเทศไทย", "มีอากาศ", "ร้อน"]),
        ("en", FAMILY * 6, [FAMILY * 3] * 2),
    ],
)
def test_a_sentence_over_the_budget_is_cut_at_its_best_places(language: str, text: str, expected: list[str]) -> None:
    budget = Budget(30, None, lambda text: 3 * len(text) if language in {"zh", "th"} else len(text))
    assert texts(segment(text, language, budget)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One is. Two is. !!!", ["One is.", "Two is. !!!"]),
        ("One is here, two is there, three", ["One is here,", "two is there,", "three"]),
        ("one two three four", ["one two", "three four"]),
        ("Haus", ["Ha", "us"]),
        (FAMILY, [FAMILY]),
        ("a", ["a"]),
    ],
)
def test_smaller_takes_sentences_else_clauses_else_halves(text: str, expected: list[str]) -> None:
    assert texts(split_segment(text, "en")) == expected


def test_the_demo_tokenizer_agrees_that_segments_keep_the_budget() -> None:
    tokenizer = Tokenizer.from_file(str(MODELS / "en-de" / "tokenizer.json"))

    def count(text: str) -> int:
        return len(tokenizer.encode(text, add_special_tokens=False).ids)

    text = "\n\n".join(
        "Dr. Smith paid $3.50, e.g. for tea. Er wohnt in der Donaudampfschifffahrtsgesellschaftsstraße 7. 你好，世界。"
        f"Sentence {number} is {'very ' * (number % 60)}long." * (number % 5 + 1)
        for number in range(60)
    )
    pieces = segment(text, "en", Budget(64, None, count))
    check_layout(pieces, text)
    assert max(count(piece) for piece in texts(pieces)) <= 64
    assert len(texts(pieces)) < count(text) / 64 * 2.5


@pytest.mark.parametrize(
    ("between", "before", "after", "source", "target", "expected"),
    [
        ("", "Hello.", "World.", "zh", "en", " "),
        ("", "Hello.", "World.", "ja", "ko", " "),
        ("", "Hello.", "World.", "yue", "th", " "),
        ("", "Hello", "world", "th", "en", " "),
        ("", f"Hello.{CLOSE}", f"{OPEN}World.", "zh-TW", "de", " "),
        ("", "He said (", "hello)", "zh", "en", ""),
        ("", "Hello", ", world", "zh", "en", ""),
        ("", "Hello", "” she said", "zh", "en", ""),
        ("", "你好。", "世界。", "ja", "zh", ""),
        ("", "Ha", "us", "en", "de", ""),
        ("", "", "World.", "zh", "en", ""),
        (" ", "你好。", "世界。", "en", "zh", ""),
        (" ", f"你好。{CLOSE}", "世界。", "en", "zh-Hant", ""),
        (" ", "你好。", "“世界”。", "ko", "ja", ""),
        (" ", "你好。", "Tom来了。", "en", "zh", " "),
        (" ", "你好。", "世界。", "zh", "ja", " "),
        (" ", "Hallo.", "Welt.", "en", "de", " "),
        ("\u00a0", "你好。", "世界。", "fr", "zh", "\u00a0"),
        ("\n", "你好。", "世界。", "en", "zh", "\n"),
        ("  ", "你好。", "世界。", "en", "zh", "  "),
        ("\t", "Hello.", "World.", "zh", "en", "\t"),
    ],
)
def test_joints_suit_the_target_language(
    between: str, before: str, after: str, source: str, target: str, expected: str
) -> None:
    assert separator(between, before, after, source, target) == expected
