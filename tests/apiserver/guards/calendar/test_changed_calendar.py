"""Calendar words that a translation lost, changed or added, and words that only look like some."""

from __future__ import annotations

import pytest

from apiserver.guards.calendar.changed_calendar import MAX_MENTIONS, changed_calendar, load_calendar
from shared.languages import LanguagePair

CHANGED = [
    ("en-de", "The museum is closed on Mondays.", "Das Museum ist sonntags geschlossen.", ("Mondays",)),
    ("en-fr", "See you on Wednesday", "À mardi", ("Wednesday",)),
    ("en-es", "in March", "en March", ("March",)),
    ("en-de", "She is on holiday in May.", "Sie ist im Urlaub.", ("May",)),
    ("de-en", "Ich komme am Montagmorgen.", "I come on Monday evening.", ("Montagmorgen",)),
    ("de-en", "Im Frühling", "In summer", ("Frühling",)),
    ("fr-en", "Je l'ai vu hier soir.", "I saw him this morning.", ("hier soir",)),
    ("es-en", "Nos vemos mañana.", "See you.", ("mañana",)),
    ("en-fr", "I am at home.", "Je suis à la maison le lundi.", ("lundi",)),
    ("en-ja", "I met him on Tuesday.", "水曜日に彼に会った。", ("Tuesday",)),
    ("zh-en", "我们星期五见。", "See you on Saturday.", ("星期五",)),
    ("ko-en", "내일 만나요.", "See you today.", ("내일",)),
    ("en-de", "He came on March 3.", "Er kam am March 3.", ("March",)),
    ("en-de", "He came on March 14.", "Er kam am 14. Mai.", ("March",)),
    ("es-en", "Viene el 3 de junio.", "He comes on July 3.", ("junio",)),
    ("en-ja", "He came on March 14.", "彼は5月14日に来た。", ("March",)),
    ("ja-en", "雨は夜通し降り続いた。", "The rain lasted.", ("夜通し",)),
    ("ja-en", "翌朝出発した。", "They left.", ("翌朝",)),
    ("en-fr", "We wait until spring.", "Nous attendons.", ("until spring",)),
    ("de-en", "der gestrige Test", "the test", ("gestrige",)),
    ("en-it", "He came on 14 March.", "È venuto il 14 March.", ("March",)),
    ("fr-pt", "Il vient le 14 juillet.", "Ele vem em 14 juillet.", ("juillet",)),
]
KEPT = [
    ("en-de", "on Mondays", "montags"),
    ("en-de", "on Monday evening", "am Montagabend"),
    ("en-fr", "every Monday", "le lundi"),
    ("en-de", "last night", "gestern Abend"),
    ("en-fr", "last night", "hier soir"),
    ("en-es", "last night", "anoche"),
    ("de-fr", "gestern Abend", "hier soir"),
    ("fr-es", "hier soir", "anoche"),
    ("en-ja", "last night", "昨夜"),
    ("en-zh", "last night", "昨晚"),
    ("en-ko", "last night", "어젯밤"),
    ("en-es", "tomorrow morning", "mañana por la mañana"),
    ("de-en", "morgen früh", "tomorrow morning"),
    ("en-fr", "Good morning!", "Bonjour !"),
    ("en-de", "Have a nice evening!", "Schönen Abend noch!"),
    ("en-de", "May I come in?", "Darf ich hereinkommen?"),
    ("en-de", "They march 3 miles.", "Sie marschieren 3 Meilen."),
    ("en-fr", "It was warm, but we stayed.", "Il faisait chaud, mais nous sommes restés."),
    ("fr-en", "J'ai été malade.", "I have been ill."),
    ("en-fr", "in summer", "en été"),
    ("en-de", "Miss April came at 3.", "Fräulein April kam um 3."),
    ("de-en", "Frau Sommer kommt.", "Mrs Sommer is coming."),
    ("en-de", "He came on March 14.", "Er kam am 14.3."),
    ("en-zh", "He came on March 14.", "他三月十四日来了。"),
    ("en-ko", "He came on March 14.", "그는 3월 14일에 왔다."),
    ("en-ja", "in June", "６月に"),
    ("en-ja", "for three months", "3か月間"),
    ("en-de", "at 8 in the evening", "um 20 Uhr"),
    ("en-de", "the code SUMMER25", "der Code SUMMER25"),
    ("en-de", "See you on Mon, Nov 3.", "Bis Mo., 3. November."),
    ("de-en", "So ist es.", "That is how it is."),
    ("en-es", "It is late.", "Es tarde."),
    ("en-de", "a warm summer evening", "ein warmer Sommerabend"),
    ("en-ko", "She met Don and May Robison.", "그녀는 Don과 May Robison을 만났다."),
    ("en-ja", "It is strongly typed.", "厳密に型付けされています。"),
    ("en-ko", "They are active at night.", "그들은 야행성이다."),
    ("en-zh", "most servers today", "当今大多数服务器"),
    ("en-es", "standard and daylight time", "el horario estándar y el horario de verano"),
    ("en-it", "He came on March 14.", "È venuto il 14 marzo."),
]


@pytest.mark.parametrize(("pair", "source", "translation", "values"), CHANGED)
def test_changed_calendar_word_is_found(pair: str, source: str, translation: str, values: tuple[str, ...]) -> None:
    assert changed_calendar(source, translation, LanguagePair(*pair.split("-"))) == values


@pytest.mark.parametrize(("pair", "source", "translation"), KEPT)
def test_kept_calendar_word_is_no_alarm(pair: str, source: str, translation: str) -> None:
    one, other = pair.split("-")
    assert changed_calendar(source, translation, LanguagePair(one, other)) == ()
    assert changed_calendar(translation, source, LanguagePair(other, one)) == ()


def test_language_that_cldr_lacks_has_no_months() -> None:
    assert changed_calendar("March 3", "March 3", LanguagePair("tlh", "en")) == ()


def test_text_with_too_many_words_is_not_compared() -> None:
    assert changed_calendar("Monday " * (MAX_MENTIONS + 1), "Dienstag", LanguagePair("en", "de")) == ()


def test_load_calendar_knows_any_pair() -> None:
    load_calendar([LanguagePair("en", "de"), LanguagePair("zh-Hant", "tlh")])
