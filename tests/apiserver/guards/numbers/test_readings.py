"""Readings: each that separators and clocks allow, and none that they do not."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest

from apiserver.guards.numbers.readings import (
    CLOCK_OR_RUN,
    HALF,
    MAX_GROUPS,
    MAX_INTEGER_DIGITS,
    MINUS,
    NumberKind,
    Reading,
    clock_readings,
    half_before,
    hours_of,
    is_half_hour,
    is_hour,
    read_fraction,
    read_run,
    spoken_readings,
    value_of,
)

PATTERN = re.compile(CLOCK_OR_RUN)


def readings_of(text: str) -> tuple[Reading, ...]:
    match = PATTERN.search(text)
    assert match is not None
    return read_run(text, match).readings


@pytest.mark.parametrize(
    ("text", "reading"),
    [
        ("1,250", (1250,)),
        ("1,250", (Decimal("1.25"),)),
        ("1 250", (1250,)),
        ("1\u202f250,5", (Decimal("1250.5"),)),
        ("1.234.567,89", (Decimal("1234567.89"),)),
        ("12,50,000", (1250000,)),
        ("2.5", (2, HALF)),
        ("1.2.3", ("1.2.3",)),
        ("192.168.0.1", ("192.168.0.1",)),
        ("14.3.25", (14, 3, 25)),
        ("2025.3.14", (2025, 3, 14)),
        ("10.2.15", (10, 2, 15)),
        ("3/4", (Decimal("0.75"),)),
        ("3/4", (3, 4)),
        ("9.30", (9, 30)),
        ("9.40", ("<10", -20)),
        ("9 h 30", (9, 30)),
        ("20:00", (8,)),
        ("12:00", (24,)),
        ("-5", (5, MINUS)),
        ("(−1,250", (1250, MINUS)),
        ("halb 12", (11, 30)),
        ("1980s", (80,)),
        ("1980s", (20, 80)),
        ("'80s", (1980,)),
        ("555-0123", (5550123,)),
        ("٣", (3,)),
        ("１２", (12,)),
    ],
)
def test_run_has_reading(text: str, reading: Reading) -> None:
    assert reading in readings_of(text)


@pytest.mark.parametrize(
    ("text", "reading"),
    [
        ("2.5", (25,)),
        ("3-5", (35,)),
        ("1980", (80,)),
        ("20 people", (8,)),
        ("halb 12", (12,)),
        ("1,250", (1, 250)),
        ("3 -5", (5, MINUS)),
        ("9.30", (10, 30)),
        ("100-200", (100_200,)),
        ("4.2.1", (4, 2, 1)),
        ("1.250.000", ("1.250.000",)),
    ],
)
def test_run_lacks_reading(text: str, reading: Reading) -> None:
    assert reading not in readings_of(text)


def test_digit_inside_a_word_is_a_hint() -> None:
    match = PATTERN.search("P2P")
    assert match is not None
    assert read_run("P2P", match).kind is NumberKind.HINT


def test_long_digits_are_text_without_leading_zeros() -> None:
    assert value_of("0" + "9" * (MAX_INTEGER_DIGITS + 1)) == "9" * (MAX_INTEGER_DIGITS + 1)
    assert value_of("0" + "9" * MAX_INTEGER_DIGITS) == 10**MAX_INTEGER_DIGITS - 1
    assert value_of("0" * (MAX_INTEGER_DIGITS + 1)) == 0
    assert value_of("٣" * 30) == "3" * 30
    assert readings_of("1" * 5000) == (("1" * 5000,),)


def test_run_has_a_bounded_number_of_groups() -> None:
    match = PATTERN.match("-".join(["12"] * 100))
    assert match is not None
    assert len(match.group().split("-")) == MAX_GROUPS


def test_sign_of_a_fraction_has_its_value_and_parts() -> None:
    assert read_fraction("¾") == ((Decimal("0.75"),), (3, 4))
    assert (HALF,) in read_fraction("½")


def test_hours_are_those_of_both_halves_of_the_day() -> None:
    assert [hours_of(hour) for hour in (8, 20, 12, 0, 24)] == [(8, 20), (20, 8), (12, 24), (24, 12), (24, 12)]


def test_minutes_may_be_before_the_next_hour() -> None:
    assert clock_readings(8, 0) == ((8,), (20,))
    assert clock_readings(5, 50) == ((5, 50), (17, 50), ("<6", -10), ("<18", -10))
    assert spoken_readings(10) == ((-10,), ("<10",))
    assert spoken_readings(30) == ((-30,),)
    assert spoken_readings(60) == ()


def test_halb_is_before_the_hour() -> None:
    assert is_half_hour("um halb zwölf", 12, 8)
    assert not is_half_hour("ein halbes 12", 12, 11)
    assert (11, HALF) in half_before(12)


def test_hour_has_a_word_or_sign_behind_it() -> None:
    assert all(is_hour(text, 8, 1) for text in ("8 Uhr", "8 pm", "8 h", "8時", "8시", "8 o'clock"))
    assert not any(is_hour(text, 8, 1) for text in ("8", "8 Hunde", "8時間", "8 ham"))
    assert not is_hour("80 Uhr", 80, 2)
