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
        ("en-de", "He came on March 14.", "Er kam am 14. Mai.", ("March 14",)),
        ("en-fr", "She left on June 3rd.", "Elle est partie le 3 juillet.", ("June 3rd",)),
        ("de-en", "Am 14. März 2024", "On May 14, 2024", ("14. März",)),
        ("es-en", "Viene el 3 de junio.", "He comes on July 3.", ("3 de junio",)),
        ("en-ja", "He came on March 14.", "彼は5月14日に来た。", ("March 14",)),
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
        ("en-de", "He came on March 14.", "Er kam am 14.3."),
        ("en-zh", "He came on March 14.", "他三月十四日来了。"),
        ("en-ko", "He came on March 14.", "그는 3월 14일에 왔다."),
        ("en-de", "They march 5 miles.", "Sie marschieren 5 Meilen."),
        ("en-it", "He came on March 14.", "È venuto il 14 marzo."),  # nobody reads its months here
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
