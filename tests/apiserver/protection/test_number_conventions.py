"""Number conventions: digits in the target's notation, and what stays as it is."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.protection.number_conventions import convert_amount, convert_number, format_number, value_in
from shared.languages import LanguagePair


def pair_of(name: str) -> LanguagePair:
    return LanguagePair(*name.split("-"))


@pytest.mark.parametrize(
    ("pair", "number", "written"),
    [
        ("en-de", "79.90", "79,90"),
        ("en-de", "415,000", "415.000"),
        ("en-de", "1,234,567.80", "1.234.567,80"),
        ("en-de", "1.250", "1,250"),
        ("en-de", "1250", "1250"),
        ("en-de", "1 250", "1 250"),
        ("en-de", "1 250.5", "1 250,5"),
        ("en-fr", "53.2", "53,2"),
        ("en-fr", "415,000", "415\u202f000"),
        ("en-es", "3.70", "3,70"),
        ("en-es", "12,500.5", "12.500,5"),
        ("de-en", "1.250", "1,250"),
        ("de-en", "0,5", "0.5"),
        ("de-fr", "1.250,50", "1\u202f250,50"),
        ("fr-en", "1\u202f250,50", "1,250.50"),
        ("fr-en", "1 250", "1,250"),
        ("es-en", "12.500", "12,500"),
        ("en-ja", "1,250.5", "1,250.5"),
        ("ja-de", "1,250.5", "1.250,5"),
    ],
)
def test_number_gets_the_notation_of_the_target(pair: str, number: str, written: str) -> None:
    assert convert_number(number, pair_of(pair)) == written


@pytest.mark.parametrize(
    ("pair", "number"),
    [
        ("en-de", "79,90"),  # German already
        ("en-de", "12,50,000"),
        ("en-de", "1,2500"),
        ("en-de", "0,250"),
        ("en-de", "4.2.1"),
        ("de-en", "2.5"),
        ("de-en", "1.2500"),
        ("fr-en", "1.250,50"),
        ("en-de", "٣.٥"),
        ("en-de", "3" * 16 + ".5"),
        ("en-tlh", "1.5"),
        ("tlh-de", "1.5"),
        ("en-de", ""),
    ],
)
def test_other_numbers_stay(pair: str, number: str) -> None:
    assert convert_number(number, pair_of(pair)) == number


@pytest.mark.parametrize(
    ("amount", "written"),
    [
        ("€79.90", "€79,90"),
        ("53.2%", "53,2%"),
        ("3.7 MB", "3,7 MB"),
        ("£415,000", "£415.000"),
        ("$1.3M", "$1,3M"),
        ("1.5–2.5 km", "1,5–2,5 km"),
        ("€2.50-€3.50", "€2,50-€3,50"),
        ("-3.5 °C", "-3,5 °C"),
        ("5 km", "5 km"),
    ],
)
def test_amount_keeps_its_unit_and_place(amount: str, written: str) -> None:
    for before, behind in (("", ""), ("It is ", "."), ("(", ")"), ("约", "。"), ("about ~", ", or"), ("", "/month.")):
        text = f"{before}{amount}{behind}"
        assert convert_amount(text, len(before), len(before) + len(amount), pair_of("en-de")) == written


@pytest.mark.parametrize(
    ("before", "amount", "behind"),
    [
        ("file-", "3.7MB", ".zip"),
        ("", "3.7MB", ".tar.gz"),
        ("a_", "3.7MB", ""),
        ("size=", "3.7MB", ""),
        ("width:", "3.5mm", ";"),
        ("x/", "3.7MB", "/y"),
        ("margin: ", "1.5px", ";"),
        ("", "$2.5", ".1"),
        ("₹", "12.50", ",000"),
        ("1,", "250.5 km", ""),
        ("", "3.7MB", "@host"),
    ],
)
def test_codes_are_not_changed(before: str, amount: str, behind: str) -> None:
    text = before + amount + behind
    assert convert_amount(text, len(before), len(before) + len(amount), pair_of("en-de")) == amount


def test_value_is_what_readers_see() -> None:
    assert value_in("1.250", "en") == Decimal("1.25")
    assert value_in("1.250", "de") == Decimal(1250)
    assert value_in("79.90", "de") is None
    assert value_in("1.5", "tlh") is None


@pytest.mark.parametrize("tag", ["tlh", "x", "", "en-!", "de-Latn-DE"])
def test_unknown_language_has_plain_digits(tag: str) -> None:
    assert format_number(1250, tag) == ("1.250" if tag.startswith("de") else "1250")


@given(
    st.integers(0, 10**14),
    st.none() | st.from_regex(r"\A[0-9]{1,4}\Z"),
    st.sampled_from(["de", "fr", "es", "hi", "ar"]),
)
def test_converted_number_has_the_same_value(whole: int, fraction: str | None, tag: str) -> None:
    number = format_number(whole, "en") + ("" if fraction is None else f".{fraction}")
    written = convert_number(number, LanguagePair("en", tag))
    if tag != "hi":  # its groups are of two digits
        assert value_in(written, tag) == value_in(number, "en")
        assert convert_number(written, LanguagePair(tag, "en")) in {number, number.replace(",", "")}


@given(st.text(alphabet="0123456789.,'’ €%kmMB-_/a\u00a0", max_size=30), st.sampled_from(["en-de", "de-en", "fr-es"]))
def test_any_amount_keeps_its_digits(text: str, pair: str) -> None:
    written = convert_amount(text, 0, len(text), pair_of(pair))
    assert [char for char in written if char.isdigit()] == [char for char in text if char.isdigit()]
