"""Pairs that are varied: joined, cut, with other names and numbers."""

from __future__ import annotations

import re

import pytest

from models.corpus import Pair
from models.tokenizer import DemoTokenizer, with_placeholders
from models.training.alignment import Lexicon
from models.training.batches import both_directions
from models.training.recipe import Shares
from models.training.swaps import (
    Number,
    Swapper,
    days_in,
    numbers_by_digits,
    other_number,
    shared_numbers,
    with_other_days,
)
from models.training.variation import Variant, Variation, bare, joined, prefix, with_ampersand
from tests.models.samples import OBJECTS, SUBJECTS, VERBS, pairs, plain_tokenizer, seeded

ROWS = pairs(300)
LEXICON = Lexicon.learn(ROWS, seeded(0))


def vary(shares: Shares, rows: list[Pair]) -> list[Variant]:
    variation = Variation(shares, {"de": LEXICON}, {"de": Swapper.over(rows)})
    return list(variation.vary(rows, seeded()))


def test_without_shares_nothing_changes() -> None:
    assert vary(Shares(), ROWS) == [Variant(pair, is_part=False) for pair in ROWS]


def test_joined_texts_lose_and_mix_nothing() -> None:
    rows = [row for pair in zip(pairs(60), pairs(60, "pawsx"), strict=True) for row in pair]
    texts = list(joined(rows, 0.5, seeded(0)))
    assert len(texts) < len(rows)
    assert sum(text.english.count(".") for text in texts) == len(rows)
    assert {text.english.count(".") for text in texts} == {1, 2, 3}
    assert all(text.english.count(".") == text.other.count(".") for text in texts)


@pytest.mark.parametrize(
    ("english", "other", "expected"),
    [
        ("Hello!", "Hallo!", ("Hello", "Hallo")),
        ("Are you well ?", "Tu vas bien ?", ("Are you well", "Tu vas bien")),
        ("Hello!", "Hallo", ("Hello!", "Hallo")),
        ("...", "…", ("...", "…")),
        ("This sentence is longer than all that people type.", "Lang.", None),
    ],
)
def test_short_texts_lose_their_full_stop(english: str, other: str, expected: tuple[str, str] | None) -> None:
    pair = Pair(english, other, "de")
    assert bare(pair, 1.0, seeded())[:2] == (expected or (english, other))
    assert bare(pair, 0.0, seeded()) == pair


@pytest.mark.parametrize(
    ("language", "english", "other", "expected"),
    [
        ("de", "Save and close.", "Speichern und schließen.", ("Save & close.", "Speichern & schließen.")),
        ("fr", "Paul and Lea", "Paul et Léa", ("Paul & Lea", "Paul & Léa")),
        ("es", "salt and pepper", "sal y pimienta", ("salt & pepper", "sal & pimienta")),
        ("de", "You and I and he", "Du und ich und er", None),
        ("es", "Spain and Italy", "España e Italia", None),
        ("ja", "you and I", "あなたと私", None),
    ],
)
def test_and_becomes_an_ampersand_on_both_sides(
    language: str, english: str, other: str, expected: tuple[str, str] | None
) -> None:
    pair = Pair(english, other, language)
    assert with_ampersand(pair, 1.0, seeded())[:2] == (expected or (english, other))
    assert with_ampersand(pair, 0.0, seeded()) == pair


def test_typed_texts_are_in_lower_case_and_answers_are_not() -> None:
    rows = [Pair("Good night, Anna!", "¡Buenas noches, Anna!", "de"), Pair("A sentence. " * 5, "Ein Satz. " * 5, "de")]

    short, long = vary(Shares(lower=1), rows)

    assert short == Variant(Pair("Good night, Anna", "Buenas noches, Anna", "de"), is_part=False, is_lower=True)
    assert long == Variant(rows[1], is_part=False)
    tokenizer = DemoTokenizer(with_placeholders(plain_tokenizer(["Good night, Anna", "Buenas noches"])), ("de",))
    there, back = both_directions([short], tokenizer, 96)
    assert "good night, anna" in tokenizer.decode(there.prompt)
    assert tokenizer.decode(back.answer).startswith("Good night, Anna")


@pytest.mark.parametrize(
    ("language", "english", "other"),
    [
        ("de", "Closed on Mondays. It may be.", "Montags geschlossen. Kann sein."),
        ("de", "See you Friday evening in May.", "Bis Freitagabend im Mai."),
        ("fr", "In April, on a Thursday.", "En avril, un jeudi."),
        ("es", "Saturdays in March, and a Tuesday", "Los sábados de marzo, y un martes"),
    ],
)
def test_days_are_swapped_on_both_sides(language: str, english: str, other: str) -> None:
    rng, seen = seeded(), set[str]()
    for _ in range(50):
        swapped = with_other_days(Pair(english, other, language), rng)
        days = [{day for day, _ in days_in(*side)} for side in ((swapped.english, "en"), (swapped.other, language))]
        assert days[0] == days[1]
        assert swapped.other[0].isupper()
        seen.add(swapped.other)
    assert len(seen) > 3
    assert not [text for text in seen if re.search(r"(avril|août|octobre)", text)] or other.startswith("En avril")


def test_days_of_one_side_alone_stay() -> None:
    pair = Pair("He may march on Monday.", "Er marschiert am Dienstag.", "de")
    assert with_other_days(pair, seeded()) == pair


def test_titles_are_not_joined() -> None:
    titles = [Pair("To turn on logging", "So aktivieren Sie die Protokollierung", "de")] * 20
    assert list(joined(titles, 1.0, seeded(0))) == titles


def test_chinese_sentences_are_joined_without_spaces() -> None:
    rows = [Pair("One.", "一。", "zh")] * 2
    (text,) = joined(rows, 1.0, seeded(1))
    assert (text.english, text.other) == ("One. One.", "一。一。")


@pytest.mark.parametrize("seed", range(5))
def test_prefixes_say_the_same(seed: int) -> None:
    variant = prefix(
        LEXICON.align(Pair("The dog sees a house today.", "Der Hund sieht ein Haus heute.", "de")), seeded(seed)
    )
    assert variant is not None
    assert variant.is_part
    table = SUBJECTS | VERBS | OBJECTS
    english, other = variant.pair.english.lower(), variant.pair.other.lower()
    assert len(english.split()) == len(other.split()) >= 2
    assert [two.lower() in other for one, two in table.items() if one in english] == [
        True for one in table if one in english
    ]
    assert not english.endswith(".")


def test_pairs_with_few_links_are_not_cut() -> None:
    pair = Pair("The dog went home early because of rain.", "Der Hund war müde und ging.", "de")
    assert prefix(LEXICON.align(pair), seeded(0)) is None
    assert prefix(LEXICON.align(Pair("!", "!", "de")), seeded(0)) is None


def test_shares_decide_how_often() -> None:
    varied = vary(Shares(prefixes=0.5), ROWS)
    assert sum(variant.is_part for variant in varied) == pytest.approx(150, abs=40)
    tagged = vary(Shares(placeholders=1.0), ROWS)
    assert sum("<" in variant.pair.english for variant in tagged) > 200


NAMES = [Pair(f"{name} is here.", f"{name} ist hier.", "de") for name in ("Anna", "Tom", "Zuzana", "Rotterdam")]
SEEDS = range(8)


def swapped(english: str, other: str, language: str, seed: int) -> Pair:
    return Swapper.over(NAMES).swap(Pair(english, other, language), seeded(seed))


def digits(text: str) -> list[str]:
    return sorted(numbers_by_digits(text))


def test_texts_without_names_or_numbers_stay() -> None:
    pair = Pair("It rains.", "Es regnet.", "de")
    assert Swapper.over([]).swap(pair, seeded(0)) == pair
    assert Swapper.over(NAMES).swap(Pair("", "", "de"), seeded(0)) == Pair("", "", "de")


@pytest.mark.parametrize("seed", SEEDS)
def test_names_are_the_same_on_both_sides(seed: int) -> None:
    pair = swapped("Anna and Tom live in Rotterdam.", "Anna und Tom wohnen in Rotterdam.", "de", seed)
    assert re.findall(r"[A-Z]\w+", pair.english) == re.findall(r"[A-Z]\w+", pair.other)
    assert pair.english.split()[1] == "and"


def test_words_inside_others_are_not_swapped() -> None:
    pair = swapped("Anna loves Annabel.", "Anna liebt Annabel.", "de", 1)
    assert pair.english.endswith(" Annabel.")
    assert pair.other.endswith(" Annabel.")


@pytest.mark.parametrize(
    ("english", "other", "language"),
    [
        ("1,250.75 euros", "1.250,75 Euro", "de"),
        ("1,280 dollars", "1 280 dollars", "fr"),
        ("22.2 percent of 593", "22,2 Prozent von 593", "de"),
        ("at 9:30 and 14:05", "um 9.30 und 14.05 Uhr", "de"),
        ("at 9:30", "à 9 h 30", "fr"),
        ("in 1998", "im Jahr 1998", "de"),
        ("room 007", "Zimmer 007", "de"),
    ],
)
def test_numbers_agree_on_both_sides(english: str, other: str, language: str) -> None:
    for seed in SEEDS:
        pair = swapped(english, other, language, seed)
        assert digits(pair.english) == digits(pair.other), seed
        assert re.sub(r"[\d.,]", "", pair.english).split() == re.sub(r"[\d.,]", "", english).split(), seed


def test_numbers_on_one_side_stay() -> None:
    assert list(shared_numbers(Pair("3 and 5", "drei und 5", "de"))) == [Number("5", "5")]
    assert list(shared_numbers(Pair("2:15 p.m.", "14:15 Uhr", "de"))) == []
    assert list(shared_numbers(Pair("7 of 7", "7 von 7", "de"))) == []  # which is which?


def test_zero_and_one_stay() -> None:
    assert list(shared_numbers(Pair("1 or 0", "1 oder 0", "de"))) == []


@pytest.mark.parametrize("seed", SEEDS)
def test_times_stay_times_and_years_years(seed: int) -> None:
    rng = seeded(seed)
    hour, minute = other_number(Number("9:30", "9.30"), "de", rng).english.split(":")
    assert 1 <= int(hour) <= 11
    assert 0 <= int(minute) <= 59
    assert len(minute) == 2
    assert 13 <= int(other_number(Number("14:05", "14:05"), "de", rng).english.split(":")[0]) <= 23
    assert 1100 <= int(other_number(Number("1998", "1998"), "de", rng).other) <= 2099
    assert other_number(Number("5", "5"), "de", rng).english != "1"


def test_long_numbers_are_grouped_by_language() -> None:
    found = {other_number(Number("348", "348"), "fr", seeded(seed)) for seed in range(300)}
    long = next(number for number in found if "," in number.english)
    assert long.other == long.english.replace(",", " ")
