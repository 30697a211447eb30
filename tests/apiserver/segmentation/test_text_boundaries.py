"""Where texts are cut, and what joins the pieces again."""

from __future__ import annotations

from itertools import pairwise

import pytest

from apiserver.formats.document import placeholder_char
from apiserver.segmentation.rejoin import separator
from apiserver.segmentation.text_boundaries import best_break, clause_ends, cluster_ends, middle_break

FAMILY = "👩‍👩‍👧‍👦"
PAIR = "\ud83d\ude00"  # two surrogates that JSON left apart


@pytest.mark.parametrize("text", ["", "a", "e\u0301", FAMILY, PAIR, "a" + "\u0301" * 5000])
def test_text_of_one_cluster_has_no_middle_break(text: str) -> None:
    assert middle_break(text, "en") is None


@pytest.mark.parametrize("text", ["e\u0301" * 20, FAMILY * 4, PAIR * 20, "，\u0301" * 20, " \u0301" * 20])
def test_best_break_never_splits_a_cluster(text: str) -> None:
    for reach in range(1, len(text)):
        place = best_break(text, 0, max(1, reach // 2), reach, "zh")
        assert place is None or (0 < place <= reach and place in cluster_ends(text))


def test_cluster_longer_than_the_reach_has_no_break() -> None:
    assert best_break("a" + "\u0301" * 500, 0, 50, 100, "en") is None


@pytest.mark.parametrize(
    ("language", "text", "left"),
    [
        ("en", "It is late. However, we go on to the end", "It is late. "),
        ("en", "It is 10:30, or 3,50 as they say there", "It is 10:30, "),
        ("en", f"It was <late>,{placeholder_char(0)} and we went on there", f"It was <late>,{placeholder_char(0)} "),
        ("en", "one two three four five six", "one two three "),
        ("en", "https://example.org/one/two?three=four", "https://example.org/"),
        ("zh", "我们去看书，然后回家因为很晚了", "我们去看书，"),
        ("zh", "我们今天去北京大学图书馆看书", "我们今天去北京"),
        ("ja", "図書館へ行って、本を読みます", "図書館へ行って、"),
        ("th", "ประเทศไทยมีอากาศร้อนและประชาชนจำนวนมาก", "ประเทศไทยมีอากาศร้อน"),
        ("km", "ខ្ញុំចូលចិត្តសៀវភៅនេះណាស់", "ខ្ញុំចូលចិត្ត"),
        ("ar", "ذهبنا إلى البيت، ثم أكلنا الطعام", "ذهبنا إلى البيت، "),
        ("en", FAMILY * 2, FAMILY),
    ],
)
def test_best_break_prefers_sentence_then_clause_then_word(language: str, text: str, left: str) -> None:
    place = best_break(text, 0, len(text) // 2, len(text) - 1, language)
    assert text[:place] == left


def test_clauses_end_at_punctuation_outside_numbers() -> None:
    clauses = ["At 10:30, ", "for 3,50; ", "http://a.b,c ", "then（好，", "是）、", "end: "]
    text = "".join(clauses) + "last."
    ends = [0, *clause_ends(text), len(text)]
    assert [text[start:end] for start, end in pairwise(ends)] == [
        *clauses[:2],
        clauses[2] + clauses[3],
        *clauses[4:],
        "last.",
    ]


@pytest.mark.no_cover
@pytest.mark.parametrize(
    "unit", [".", ",", "。", "a", "a,", ". ", '."', "，”", "\u0301", "ก", "漢", FAMILY[:2], "\ud800"]
)
def test_breaks_of_a_hostile_long_text_are_found(unit: str) -> None:
    text = (unit * 200_000)[:200_000]
    clause_ends(text)
    place = middle_break(text, "th")
    assert place is None or 0 < place < len(text)


OPEN, CLOSE = placeholder_char(0), placeholder_char(1)


@pytest.mark.parametrize(
    ("gap", "before", "after", "source", "target", "expected"),
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
def test_separator_suits_the_target_language(
    gap: str, before: str, after: str, source: str, target: str, expected: str
) -> None:
    assert separator(gap, before, after, source, target) == expected
