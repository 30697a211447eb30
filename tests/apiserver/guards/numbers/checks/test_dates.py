"""Dates: months and days that a translation left as they were."""

from __future__ import annotations

import pytest

from apiserver.guards.numbers.changed_numbers import changed_numbers
from shared.languages import LanguagePair


@pytest.mark.parametrize(
    ("pair", "source", "translation", "values"),
    [
        ("en-de", "He came on March 3.", "Er kam am March 3.", ("March 3",)),
        ("en-fr", "He came on 3 March.", "Il est venu le 3 March.", ("3 March",)),
        ("de-en", "Am 1. Juli kommt er.", "On Juli 1 he comes.", ("1. Juli",)),
        ("fr-de", "Il vient le 14 juillet.", "Er kommt am 14. juillet.", ("14 juillet",)),
        ("es-en", "Viene el 3 de mayo.", "He comes on 3 mayo.", ("3 de mayo",)),
        ("de-en", "Ich bin bis zum 21. in Bonn.", "I'm in Bonn until 21.", ("21.",)),
        ("de-en", "Kommst du am 5. zu uns?", "Will you come on 5 to us?", ("5.",)),
    ],
)
def test_date_in_foreign_form_is_found(pair: str, source: str, translation: str, values: tuple[str, ...]) -> None:
    assert changed_numbers(source, translation, LanguagePair(*pair.split("-"))) == values


@pytest.mark.parametrize(
    ("pair", "source", "translation"),
    [
        ("en-de", "He came on March 3.", "Er kam am 3. März."),
        ("en-de", "He came on April 3.", "Er kam am 3. April."),  # the same name
        ("en-de", "Miss April came at 3.", "Fräulein April kam um 3."),
        ("en-de", "They march 3 miles.", "Sie marschieren 3 Meilen."),
        ("de-en", "Ich bin bis zum 21. in Bonn.", "I'm in Bonn until the 21st."),
        ("de-en", "Ich bin bis zum 21. in Bonn.", "I'm in Bonn until the twenty-first."),
        ("de-en", "Er ist vom 3. bis 5. Mai hier.", "He is here from May 3 to 5."),
        ("de-fr", "Ich bin bis zum 21. in Bonn.", "Je suis à Bonn jusqu'au 21."),
        ("de-en", "Wir haben den 21.", "Today is 21."),  # perhaps the end of a sentence
        ("tlh-en", "March 3", "March 3"),  # CLDR has no names of months
    ],
)
def test_translated_dates_are_no_alarm(pair: str, source: str, translation: str) -> None:
    assert changed_numbers(source, translation, LanguagePair(*pair.split("-"))) == ()
