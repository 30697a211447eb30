"""Segments: exact, within the budget, sentence by sentence."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from apiserver.formats.document import placeholder_char
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

MODELS = Path(__file__).parents[3] / "models"
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


def texts(parts: list[TextPart]) -> list[str]:
    return [part.text for part in parts if isinstance(part, Segment)]


def join(parts: list[TextPart]) -> str:
    return "".join(part.text if isinstance(part, Segment) else part for part in parts)


def check_layout(parts: list[TextPart], text: str) -> None:
    assert join(parts) == text
    for part in texts(parts):
        assert part
        assert part == part.strip()
        assert not HARD.search(part)
    for first, second in pairwise(parts):
        assert isinstance(first, Segment) != isinstance(second, Segment)
    assert all(part.isspace() or not part for part in parts if isinstance(part, str))


@given(TEXTS, LANGUAGES, st.integers(1, 120), st.none() | st.integers(1, 3))
def test_segments_keep_the_budget_and_join_to_the_text(
    text: str, language: str, max_tokens: int, max_sentences: int | None
) -> None:
    budget = by_bytes(max_tokens, max_sentences)
    parts = segment(text, language, budget)
    check_layout(parts, text)
    assert all(utf8(part) <= max_tokens or len(part) == 1 for part in texts(parts))
    assert parts == segment(text, language, budget)


@given(TEXTS, LANGUAGES)
def test_no_grapheme_cluster_within_the_budget_is_cut(text: str, language: str) -> None:
    position = 0
    ends = {0, *cluster_ends(text)}
    for part in segment(text, language, by_bytes(150)):
        if isinstance(part, str):
            position += len(part)
            continue
        # White space may be what a combining mark stands on; it is taken off all the same.
        assert position in ends or text[position - 1].isspace()
        position += len(part.text)
        assert position in ends or text[position].isspace()


@given(TEXTS, LANGUAGES, st.integers(1, 60))
def test_hard_white_space_is_outside_segments(text: str, language: str, max_tokens: int) -> None:
    parts = segment(text, language, by_bytes(max_tokens))
    assert skeleton("".join("ein Wort" if isinstance(part, Segment) else part for part in parts)) == skeleton(text)


@given(TEXTS, LANGUAGES)
def test_split_segment_ends_at_one_cluster(text: str, language: str) -> None:
    for whole in texts(segment(text, language, by_bytes(400))):
        parts = split_segment(whole, language)
        check_layout(parts, whole)
        assert len(texts(parts)) > 1 or len(cluster_ends(whole)) == 1


@pytest.mark.parametrize("text", ["", " ", "\n", "\u00a0", " \t\r\n "])
def test_blank_text_has_no_segments(text: str) -> None:
    assert segment(text, "en", by_bytes(10)) == ([text] if text else [])
    assert skeleton(text) == [text]


@pytest.mark.no_cover
@pytest.mark.parametrize(
    "unit", ["\u0301", "a\u200d", OPEN, "\ud800", "\0", "“", "'", '"‚', ".", ",", "1. ", "ก", "漢", "\U0010ffff"]
)
def test_hostile_long_text_is_segmented(unit: str) -> None:
    text = (unit * 200_000)[:200_000]
    parts = segment(text, "en", by_bytes(200))
    assert join(parts) == text
    assert all(utf8(part) <= 200 for part in texts(parts))


def test_segment_length_is_bounded_in_characters() -> None:
    parts = texts(segment("a" * 10_000, "en", Budget(10, None, lambda _: 0)))
    assert max(map(len, parts)) <= 10 * CHARS_PER_TOKEN


def test_character_over_the_budget_is_a_segment() -> None:
    assert segment("漢字", "ja", by_bytes(1)) == [Segment("漢"), "", Segment("字")]


def test_lines_are_separate_segments() -> None:
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


def test_sentences_share_segments_within_the_budget() -> None:
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
def test_letterless_span_joins_its_neighbour(text: str, expected: list[str]) -> None:
    assert texts(segment(text, "en", by_bytes(100, 1))) == expected


def test_letterless_span_that_does_not_fit_stays_alone() -> None:
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
def test_long_sentence_is_cut_at_the_best_places(language: str, text: str, expected: list[str]) -> None:
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
def test_split_segment_prefers_sentences_then_clauses(text: str, expected: list[str]) -> None:
    assert texts(split_segment(text, "en")) == expected


def test_segments_keep_the_budget_of_the_demo_tokenizer() -> None:
    tokenizer = Tokenizer.from_file(str(MODELS / "en-de" / "tokenizer.json"))

    def count(text: str) -> int:
        return len(tokenizer.encode(text, add_special_tokens=False).ids)

    text = "\n\n".join(
        "Dr. Smith paid $3.50, e.g. for tea. Er wohnt in der Donaudampfschifffahrtsgesellschaftsstraße 7. 你好，世界。"
        f"Sentence {number} is {'very ' * (number % 60)}long." * (number % 5 + 1)
        for number in range(60)
    )
    parts = segment(text, "en", Budget(64, None, count))
    check_layout(parts, text)
    assert max(count(part) for part in texts(parts)) <= 64
    assert len(texts(parts)) < count(text) / 64 * 2.5
