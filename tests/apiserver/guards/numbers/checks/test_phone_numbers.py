"""Telephone numbers: other groups are right, other digits are not."""

from __future__ import annotations

import pytest

from apiserver.guards.numbers.changed_numbers import changed_numbers
from apiserver.guards.numbers.checks.phone_numbers import digits_of, find_phones, phones_in
from shared.languages import LanguagePair

EN_FR = LanguagePair("en", "fr")


@pytest.mark.parametrize(
    ("phone", "written"),
    [
        ("0151 234567", "0151 234567"),
        ("0151 234567", "01 51 23 45 67"),
        ("0151 234567", "0151/234567"),
        ("0151 234567", "0151-23 45 67"),
        ("+49 30 1234567", "+49 (30) 123 45 67"),
        ("+49 (0)30 1234567", "+49 (0) 30 1234567"),
        ("(415) 555-0132", "415 555 0132"),
        ("415-555-0132", "(415) 555-0132"),
        ("555-0123", "555 01 23"),
        ("0800.123.456", "0800 123 456"),
        ("212-836-1725", "２１２ー８３６ー１７２５"),
        ("２１２－８３６－１７２５", "212-836-1725"),
    ],
)
def test_groups_may_differ(phone: str, written: str) -> None:
    assert changed_numbers(f"Call {phone} now.", f"Appelez le {written} maintenant.", EN_FR) == ()


@pytest.mark.parametrize(
    ("phone", "written"),
    [
        ("0151 234567", "0151 23456"),
        ("0151 234567", "151 234567"),
        ("0151 234567", "0151 2345678"),
        ("0151 234567", "234567 0151"),
        ("0151 234567", "0151 243567"),
        ("+49 30 1234567", "49 30 1234567"),
        ("+49 30 1234567", "+30 49 1234567"),
        ("(415) 555-0132", "(415) 555-132"),
        ("555-0123", "555-123"),
    ],
)
def test_other_digits_are_found(phone: str, written: str) -> None:
    assert changed_numbers(f"Call {phone} now.", f"Appelez le {written} maintenant.", EN_FR) == (phone,)


def test_digits_behind_a_phone_number_are_found() -> None:
    assert changed_numbers("Call 555-0123 now.", "Appelez le 555-0123-44.", EN_FR) != ()


@pytest.mark.parametrize(
    "text",
    [
        *("01.02.2024", "01/02/2024", "05.06.2024-07.06.2024", "2024-03-14", "08:30", "1990-1995", "100-2000"),
        *(
            "0.1234567",
            "0,25 0,50",
            "1,234,567",
            "12 345 678",
            "007",
            "2 000 000 000",
            "50 000-59 999",
            "0151 23",
            "0" * 30,
        ),
    ],
)
def test_other_numbers_are_no_phone_numbers(text: str) -> None:
    assert list(phones_in(text)) == []


def test_place_and_digits() -> None:
    text = "Call +49 30 1234567, please."
    ((start, end),) = phones_in(text)
    assert text[start:end] == "+49 30 1234567"
    assert digits_of(text[start:end]) == "49301234567"
    assert find_phones(["+49 30 1234567", "+49 30 1234568"], text) == [(start, end), None]
