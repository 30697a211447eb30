"""Readers of numbers: by language, with spaces between words and without."""

from __future__ import annotations

from decimal import Decimal

import pytest

from apiserver.guards.numbers.east_asian_reader import Numerals, may_have_numerals, numerals_of, read_east_asian
from apiserver.guards.numbers.reader import (
    MAX_CHARS,
    MAX_NUMBERS,
    Composition,
    knows_words,
    may_have_numbers,
    may_have_words,
    numbers_in,
    read_numbers,
    read_spaced,
)
from apiserver.guards.numbers.readings import NumberKind, Value
from apiserver.guards.numbers.vocabulary import Entry, Role, lexicon_of


def test_tables_and_long_texts_have_no_numbers() -> None:
    assert numbers_in("7 " * MAX_NUMBERS, "en") == list(read_numbers("7 " * MAX_NUMBERS, "en"))
    assert numbers_in("7 " * (MAX_NUMBERS + 1), "en") is None
    assert numbers_in("seven ".ljust(MAX_CHARS), "en") == list(read_numbers("seven", "en"))
    assert numbers_in("seven ".ljust(MAX_CHARS + 1), "en") is None


def test_each_language_is_read_by_its_rules() -> None:
    texts = {
        "en": "seven",
        "de": "sieben Tage",
        "fr": "sept",
        "es": "siete",
        "ja": "七人",
        "zh": "七个人",
        "ko": "일곱 명",
    }
    for language, text in texts.items():
        assert knows_words(language)
        assert (7,) in next(read_numbers(text, language)).readings, language


def test_digits_of_unknown_languages_are_read() -> None:
    assert not knows_words("tlh")
    assert [mention.readings for mention in read_numbers("7 Soch", "tlh")] == [((7,),)]
    assert [may_have_numbers(text, "tlh") for text in ("7", "Soch")] == [True, False]


@pytest.mark.parametrize(
    ("language", "text", "value"),
    [
        ("en", "twenty-one", 21),
        ("en", "two thousand five hundred and one", 2501),
        ("en", "nineteen eighty-four", 1984),
        ("en", "three hundred thousand", 300_000),
        ("en", "twenty-first", 21),
        ("en", "1.5 million", 1_500_000),
        ("de", "einundzwanzig", 21),
        ("de", "zweitausenddreihundertvierundfünfzig", 2354),
        ("de", "einhundert", 100),
        ("de", "vierundzwanzigsten", 24),
        ("de", "hundertste", None),
        ("fr", "quatre-vingt-dix-sept", 97),
        ("fr", "mille neuf cent quatre-vingts", 1980),
        ("fr", "vingt et unième", 21),
        ("fr", "nonante-deux", 92),
        ("es", "cuarenta y cinco", 45),
        ("es", "mil novecientos ochenta y cuatro", 1984),
        ("es", "dos mil millones", 2 * 10**9),
        ("es", "mil doscientos millones", 1200 * 10**6),
        ("es", "quinta", 5),
    ],
)
def test_words_have_one_value(language: str, text: str, value: int | None) -> None:
    mentions = [mention for mention in read_spaced(text, lexicon_of(language)) if mention.is_demanded]
    if value is None:
        assert all(mention.kind is not NumberKind.DIGITS for mention in mentions)
        return
    (mention,) = mentions
    assert mention.readings[0] == (value,)
    assert text[mention.start : mention.end] == text


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "one"),
        ("en", "May I?"),
        ("en", "hundreds"),
        ("fr", "neuf"),
        ("de", "achten"),
        ("es", "cuarto"),
        ("en", "XIX"),
    ],
)
def test_words_that_mean_something_else_are_hints(language: str, text: str) -> None:
    assert all(mention.kind is NumberKind.HINT for mention in read_spaced(text, lexicon_of(language)))


def test_separate_numbers_stay_separate() -> None:
    mentions = read_spaced("between one hundred and two hundred, 3 or four", lexicon_of("en"))
    assert [mention.readings[0] for mention in mentions if mention.is_demanded] == [(100,), (200,), (3,), (4,)]


def test_without_lexicon_only_digits_are_read() -> None:
    assert [mention.readings for mention in read_spaced("три 3 ½", None)][:1] == [((3,),)]


def test_month_needs_a_capital_where_months_have_one() -> None:
    english, french = lexicon_of("en"), lexicon_of("fr")
    assert [len(list(read_spaced(text, english))) for text in ("in May", "it may")] == [1, 0]
    assert len(list(read_spaced("en mai", french))) == 1


def test_words_are_found_fast_only_if_demanded() -> None:
    german = lexicon_of("de")
    assert german is not None
    assert [may_have_words(text, german) for text in ("Zwei Häuser", "zweihundert", "ein Haus", "ein Paar")] == [
        True,
        True,
        False,
        False,
    ]


SCALES = {100: Role.HUNDRED, 1000: Role.SCALE, 10**6: Role.SCALE}


def entry(value: int) -> Entry:
    return Entry(SCALES.get(value, Role.UNIT), value, ((value,),))


@pytest.mark.parametrize(
    ("values", "total"),
    [
        ((2, 1000, 5, 100, 1), 2501),
        ((3, 100, 1000), 300_000),
        ((19, 84), 1984),
        ((2, 1000, 10**6), 2 * 10**9),
        ((1000, 2, 100, 10**6), 1200 * 10**6),
        ((100, 5), 105),
        ((2, 10**6, 3, 1000), 2_003_000),
    ],
)
def test_words_are_one_number(values: tuple[int, ...], total: int) -> None:
    composition = Composition()
    assert all(composition.take(entry(value)) for value in values)
    assert composition.value == total
    assert composition.readings()[0] == (total,)


@pytest.mark.parametrize(
    ("values", "other"), [((5,), 5), ((3,), 40), ((2, 100), 100), ((2, 1000), 1000), ((19, 84), 7)]
)
def test_word_that_begins_another_number_changes_nothing(values: tuple[int, ...], other: int) -> None:
    composition = Composition()
    assert all(composition.take(entry(value)) for value in values)
    before = composition.value
    assert not composition.take(entry(other))
    assert composition.value == before


def test_and_leaves_both_readings() -> None:
    composition = Composition()
    assert composition.take(entry(100))
    assert composition.can_join(entry(5))
    assert not composition.can_join(entry(1000))
    composition.join()
    assert composition.take(entry(5))
    assert composition.readings() == ((105,), (100, 5))


def test_scale_alone_is_weak() -> None:
    composition = Composition()
    assert composition.take(entry(1000))
    assert composition.is_weak


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
