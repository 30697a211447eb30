"""Digit runs: each reading that separators allow, and none that they do not."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest

from apiserver.guards.numbers.digit_runs import (
    CLOCK_OR_RUN,
    MAX_GROUPS,
    MAX_INTEGER_DIGITS,
    read_fraction,
    read_run,
    value_of,
)
from apiserver.guards.numbers.mentions import HALF, MINUS, NumberKind, Reading

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
