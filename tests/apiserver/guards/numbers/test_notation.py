"""Notation: numbers that readers misread, and telephone numbers, whose groups may differ."""

from __future__ import annotations

import pytest

from apiserver.guards.numbers.changed_numbers import changed_numbers
from apiserver.guards.numbers.notation import digits_of, find_phones, is_version, phones_in
from shared.languages import LanguagePair


@pytest.mark.parametrize(
    ("pair", "source", "translation", "values"),
    [
        ("de-en", "Es kamen 1.250 Leute.", "There were 1.250 people.", ("1.250",)),
        ("en-de", "They sold 1,250 tickets.", "Sie verkauften 1,250 Karten.", ("1,250",)),
        ("en-fr", "They sold 12,500 tickets.", "Ils ont vendu 12,500 billets.", ("12,500",)),
        ("en-es", "They sold 12,500 tickets.", "Vendieron 12,500 billetes.", ("12,500",)),
        ("en-de", "It costs 79.90 euros.", "Es kostet 79.90 Euro.", ("79.90",)),
        ("en-de", "It weighs 2.5 kilos.", "Es wiegt 2.5 Kilo.", ("2.5",)),
        ("en-de", "He ran it in 11.4 seconds.", "Er rannte es in 11.4 Sekunden.", ("11.4",)),
        ("en-fr", "It is 6.2 inches long.", "Il fait 6.2 pouces.", ("6.2",)),
        ("en-fr", "It has 2.5 million readers.", "Il a 2.5 millions de lecteurs.", ("2.5 million",)),
        ("en-de", "The price rose to 79.90 in May.", "Der Preis stieg im Mai auf 79.90.", ("79.90",)),
        ("de-en", "Der Wert liegt bei 3,7 im Mittel.", "The value is 3,7 on average.", ("3,7",)),
        ("de-en", "Es sind 3,7 Prozent.", "It is 3,7 percent.", ("3,7",)),
    ],
)
def test_foreign_notation_is_found(pair: str, source: str, translation: str, values: tuple[str, ...]) -> None:
    assert changed_numbers(source, translation, LanguagePair(*pair.split("-"))) == values


@pytest.mark.parametrize(
    ("pair", "source", "translation"),
    [
        ("en-de", "It costs 79.90 euros.", "Es kostet 79,90 Euro."),
        ("en-de", "See 4.2 for more.", "Siehe 4.2 für mehr."),
        ("en-de", "Python 3.11 is here.", "Python 3.11 ist da."),
        ("en-de", "Python 3.110 million times", "Python 3.110 Millionen Mal"),
        ("en-de", "Version 2.5 hours ago", "Version 2.5 vor Stunden"),
        ("en-de", "It is at (38.65, 12.5) today.", "Es liegt heute bei (38.65, 12.5)."),
        ("de-en", "Ein decimal(5,2) reicht.", "A decimal(5,2) is enough."),
        ("en-de", "Come at 9.30 today.", "Komm heute um 9.30 Uhr."),
        ("en-de", "1,250 or 1,250", "1.250 oder 1,250"),
        ("en-ja", "It costs 1,250 yen.", "1,250円です。"),
        ("en-tlh", "It weighs 2.5 kilos.", "2.5 kilos"),
        ("de-en", "am 14.3.2025 um 9.30 Uhr", "on 14.3.2025 at 9.30"),
        ("de-en", "2.5 Liter", "2.5 liters"),
    ],
)
def test_understood_notation_is_right(pair: str, source: str, translation: str) -> None:
    assert changed_numbers(source, translation, LanguagePair(*pair.split("-"))) == ()


def test_version_stands_behind_a_name() -> None:
    assert is_version("with Python 3.11", 12, "en")
    assert is_version("with Python 3.11", 12, "tlh")
    assert not is_version("the python 3.11", 11, "en")
    assert not is_version("Etwa 3.110 Leute", 5, "de")


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
        ("700 6218", "700-6218"),
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
        ("700 6218", "700,6218"),
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
