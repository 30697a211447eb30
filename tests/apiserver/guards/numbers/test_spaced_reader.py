"""Spaced reader: digits, words, both together, and which words continue a number."""

from __future__ import annotations

import pytest

from apiserver.guards.numbers.reader import Composition, may_have_words, read_spaced
from apiserver.guards.numbers.readings import NumberKind
from apiserver.guards.numbers.vocabulary import Entry, Role, lexicon_of


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
