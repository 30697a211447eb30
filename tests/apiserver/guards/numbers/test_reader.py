"""Reader: each language by its own rules, others by digits alone."""

from __future__ import annotations

from apiserver.guards.numbers.reader import (
    MAX_CHARS,
    MAX_NUMBERS,
    knows_words,
    may_have_numbers,
    numbers_in,
    read_numbers,
)


def test_tables_and_long_texts_have_no_numbers() -> None:
    assert numbers_in("7 " * MAX_NUMBERS, "en") == list(read_numbers("7 " * MAX_NUMBERS, "en"))
    assert numbers_in("7 " * (MAX_NUMBERS + 1), "en") is None
    assert numbers_in("seven ".ljust(MAX_CHARS), "en") == list(read_numbers("seven", "en"))
    assert numbers_in("seven ".ljust(MAX_CHARS + 1), "en") is None


def test_each_language_is_read_by_its_rules() -> None:
    texts = {
        "en": "seven",
        "de": "sieben Tage",
        "fr": "sept",
        "es": "siete",
        "ja": "七人",
        "zh": "七个人",
        "ko": "일곱 명",
    }
    for language, text in texts.items():
        assert knows_words(language)
        assert (7,) in next(read_numbers(text, language)).readings, language


def test_digits_of_unknown_languages_are_read() -> None:
    assert not knows_words("tlh")
    assert [mention.readings for mention in read_numbers("7 Soch", "tlh")] == [((7,),)]
    assert [may_have_numbers(text, "tlh") for text in ("7", "Soch")] == [True, False]
