"""Dates and times: German days, and halves of the day beside a time."""

from __future__ import annotations

import pytest

from apiserver.guards.numbers.changed_numbers import changed_numbers
from apiserver.guards.numbers.dates_and_times import HalfDayTime, lost_halves, times_in
from apiserver.guards.numbers.reader import read_numbers
from shared.languages import LanguagePair


@pytest.mark.parametrize(
    ("source", "translation", "values"),
    [
        ("Ich bin bis zum 21. in Bonn.", "I'm in Bonn until 21.", ("21.",)),
        ("Kommst du am 5. zu uns?", "Will you come on 5 to us?", ("5.",)),
        ("Ich bin bis zum 21. in Bonn.", "I'm in Bonn until the 21st.", ()),
        ("Ich bin bis zum 21. in Bonn.", "I'm in Bonn until the twenty-first.", ()),
        ("Er ist vom 3. bis 5. Mai hier.", "He is here from May 3 to 5.", ()),
        ("Wir haben den 21.", "Today is 21.", ()),  # perhaps the end of a sentence
    ],
)
def test_day_without_month_needs_its_ending(source: str, translation: str, values: tuple[str, ...]) -> None:
    assert changed_numbers(source, translation, LanguagePair("de", "en")) == values


RIGHT = [
    ("en-de", "The bus leaves at 11 p.m.", "Der Bus fährt um 23 Uhr."),
    ("en-de", "The bus leaves at 11 p.m.", "Der Bus fährt um 23:00 ab."),
    ("en-de", "The bus leaves at 11 p.m.", "Der Bus fährt um 11 Uhr abends."),
    ("en-de", "The bus leaves at 11 p.m.", "Der Bus fährt um 11 Uhr nachts."),
    ("en-de", "The bus leaves at 11 p.m.", "Der Bus fährt nachts um elf."),
    ("en-de", "The bus leaves at 11 p.m.", "Der Bus fährt um dreiundzwanzig Uhr."),
    ("en-fr", "The bus leaves at 11 p.m.", "Le bus part à 11 heures du soir."),
    ("en-fr", "The bus leaves at 11 p.m.", "Le bus part à 23 h."),
    ("en-es", "The bus leaves at 11 p.m.", "El autobús sale a las 11 de la noche."),
    ("en-es", "The bus leaves at 11 p.m.", "El autobús sale a las 23:00."),
    ("en-ja", "The bus leaves at 11 p.m.", "バスは午後11時に出ます。"),
    ("en-zh", "The bus leaves at 11 p.m.", "公共汽车晚上11点出发。"),
    ("en-ko", "The bus leaves at 11 p.m.", "버스는 밤 11시에 떠난다."),
    ("en-ru", "The bus leaves at 11 p.m.", "Автобус отправляется в 11."),  # nobody reads its words
    ("en-de", "Call me at 11 a.m.", "Ruf mich um 11 Uhr an."),
    ("en-fr", "Call me at 11 a.m.", "Appelle-moi à 11 h du matin."),
    ("en-de", "It starts at 8:30 p.m.", "Es beginnt um 20.30 Uhr."),
    ("en-de", "It starts at 8:30 p.m.", "Es beginnt um halb neun abends."),
    ("en-de", "open from 9 a.m. to 5 p.m.", "geöffnet von 9 bis 17 Uhr"),
    ("en-fr", "Lunch is at 12 p.m.", "Le déjeuner est à midi."),
    ("en-de", "Lunch is at 12 p.m.", "Mittagessen gibt es um 12 Uhr."),
    ("en-de", "We left at 12 a.m.", "Wir gingen um Mitternacht."),
    ("en-de", "We left at 12 a.m.", "Wir gingen um 0 Uhr."),
    ("de-en", "um 8 Uhr abends", "at 8 p.m."),
    ("de-en", "um 8 Uhr abends", "at eight in the evening"),
    ("de-en", "um 2 Uhr nachts", "at 2 a.m."),
    ("de-en", "um 4 Uhr nachmittags", "at 4 p.m."),
    ("de-en", "um 9 Uhr morgens", "at 9am"),
    ("en-fr", "written as 3:30pm", "écrit 3:30pm"),
    ("en-de", "written as 3:30AM", "geschrieben 3:30AM"),
    ("fr-en", "à 3 heures de l'après-midi", "at 15:00"),
    ("es-en", "a las 8 de la tarde", "at 8 pm"),
]
WRONG = [
    ("de-en", "um 4 Uhr nachmittags", "I am here at 4 a.m.", "4 Uhr nachmittags"),
    ("en-de", "at 9 p.m. today", "um 9 am Montag", "9 p.m."),
    ("en-de", "The bus leaves at 11 p.m.", "Der Bus fährt um 11 Uhr.", "11 p.m"),
    ("en-de", "At 11 p.m. we left.", "Um 11 Uhr gingen wir.", "11 p.m."),
    ("en-fr", "At 11 PM we left.", "À 11 heures, nous sommes partis.", "11 PM"),
    ("en-es", "At 11 pm we left.", "A las 11 nos fuimos.", "11 pm"),
    ("en-de", "At 11 p.m. we left.", "Um 11 Uhr morgens gingen wir.", "11 p.m."),
    ("en-de", "At 11 a.m. we left.", "Um 23 Uhr gingen wir.", "11 a.m."),
    ("en-de", "At 11 a.m. we left.", "Um 11 Uhr abends gingen wir.", "11 a.m."),
    ("en-de", "It starts at 8:30 p.m. today.", "Es beginnt heute um 8.30 Uhr.", "8:30 p.m."),
    ("en-ja", "At 11 p.m. we left.", "11時に出ました。", "11 p.m."),
    ("de-en", "Es ist 8 Uhr abends.", "It is 8 o'clock.", "8 Uhr abends"),
    ("de-en", "um 11 Uhr nachts", "at 11 a.m.", "11 Uhr nachts"),
    ("fr-en", "à 8 heures du soir", "at 8 a.m.", "8 heures du soir"),
    ("es-en", "a las 8 de la tarde", "at 8 am", "8 de la tarde"),
    ("en-de", "We left at 12 a.m. today.", "Wir gingen heute um 12 Uhr.", "12 a.m."),
]


@pytest.mark.parametrize(("pair", "source", "translation"), RIGHT)
def test_half_is_kept(pair: str, source: str, translation: str) -> None:
    assert changed_numbers(source, translation, LanguagePair(*pair.split("-"))) == ()


@pytest.mark.parametrize(("pair", "source", "translation", "value"), WRONG)
def test_lost_half_is_found(pair: str, source: str, translation: str, value: str) -> None:
    assert changed_numbers(source, translation, LanguagePair(*pair.split("-"))) == (value,)


def test_times_are_of_the_24_hour_clock() -> None:
    text = "12 a.m., 1:30 am, 12 p.m., 11PM"
    assert [(time.hour, time.minute) for time in times_in(text, "en")] == [(0, 0), (1, 30), (12, 0), (23, 0)]
    assert [time.hour for time in times_in("8 h 30 du soir, 3 heures du matin", "fr")] == [20, 3]


@pytest.mark.parametrize("text", ["3.111 pm", "13 p.m.", "1,250 am", "It is 11.", "11 people", "v2 am Montag"])
def test_other_numbers_are_no_times(text: str) -> None:
    assert list(times_in(text, "en")) == []


def test_language_without_words_loses_nothing() -> None:
    mentions = list(read_numbers("в 11", "ru"))
    assert list(lost_halves([HalfDayTime(0, 5, 23, 0)], "в 11", mentions, "ru")) == []
    assert list(times_in("11 p.m.", "ru")) == []
