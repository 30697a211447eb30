"""East Asian reader: numerals, scales, native numbers, and words that only look like them."""

from __future__ import annotations

from decimal import Decimal

import pytest

from apiserver.guards.numbers.east_asian_reader import Numerals, may_have_numerals, numerals_of, read_east_asian
from apiserver.guards.numbers.readings import Value


def numerals(language: str) -> Numerals:
    found = numerals_of(language)
    assert found is not None
    return found


def demanded(language: str, text: str) -> list[Value]:
    return [mention.readings[0][0] for mention in read_east_asian(text, numerals(language)) if mention.is_demanded]


@pytest.mark.parametrize(
    ("language", "text", "values"),
    [
        ("ja", "12.5万円", [125_000]),
        ("ja", "1億2345万人", [123_450_000]),
        ("ja", "12万5千円", [125_000]),
        ("ja", "三百二十一人", [321]),
        ("ja", "二〇二五年", [2025]),
        ("ja", "５００円", [500]),
        ("zh", "一万二千个", [12_000]),
        ("zh", "两百人", [200]),
        ("zh", "2万亿元", [2 * 10**12]),
        ("zh", "五十千米", []),
        ("zh", "第三天", [3]),
        ("ko", "12만 5천 명", [125_000]),
        ("ko", "삼십육 명", [36]),
        ("ko", "스물한 살", [21]),
        ("ko", "책 다섯 권", [5]),
        ("ko", "열 세살", [13]),
        ("ja", "十分です", []),
        ("ja", "何十回も", []),
        ("ja", "２、３日", []),
        ("ja", "二三日", []),
        ("zh", "星期三", []),
        ("zh", "百分之五", []),
        ("zh", "万一", []),
        ("ko", "일이 많다", []),
        ("ko", "오세요", []),
        ("ko", "네 도움", []),
        ("ko", "세월", []),
    ],
)
def test_numbers_are_demanded_only_where_sure(language: str, text: str, values: list[Value]) -> None:
    assert demanded(language, text) == values


def readings_of(language: str, text: str) -> set[tuple[Value, ...]]:
    return {reading for mention in read_east_asian(text, numerals(language)) for reading in mention.readings}


def test_numerals_have_all_their_readings() -> None:
    assert {(305,), (350,)} <= readings_of("zh", "三百五")
    assert {(34,), (3, 4)} & readings_of("zh", "三四") == {(3, 4)}
    assert {(8,), (20,)} <= readings_of("ja", "八時")
    assert {(80,), (1980,)} <= readings_of("zh", "八十年代")
    assert (Decimal("0.5"),) in readings_of("ko", "반")


def test_long_numerals_are_not_read() -> None:
    assert readings_of("ja", "万" * 10_000) == set()


def test_texts_without_numerals_are_seen_fast() -> None:
    assert not may_have_numerals("委員会は明日の朝です。", numerals("ja"))
    assert not may_have_numerals("半天", numerals("zh"))
    assert may_have_numerals("다섯 권", numerals("ko"))
