"""Names and numbers of a pair, swapped for others."""

from __future__ import annotations

import re

import pytest

from models.corpus import Pair
from models.training.swaps import Number, Swapper, numbers_by_digits, other_number, shared_numbers
from tests.models.samples import seeded

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


@pytest.mark.parametrize("seed", SEEDS)
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
def test_numbers_agree_on_both_sides(english: str, other: str, language: str, seed: int) -> None:
    pair = swapped(english, other, language, seed)
    assert digits(pair.english) == digits(pair.other)
    assert re.sub(r"[\d.,]", "", pair.english).split() == re.sub(r"[\d.,]", "", english).split()


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
