"""Candidates for names, and the lists of words that are none."""

from __future__ import annotations

import pytest

from apiserver.guards.names.candidates import MAX_CANDIDATES, Candidate, CandidateKind, candidates_in, whole_name
from apiserver.guards.names.word_lists import (
    LISTED,
    NAME_WORDS,
    is_ordinary_among,
    is_ordinary_inside,
    may_be_ordinary,
    place_names_of,
    translated_words,
)
from shared.languages import LanguagePair


def found(text: str, tag: str = "en") -> list[str]:
    return [candidate.text for candidate in candidates_in(text, tag)]


@pytest.mark.parametrize(
    ("text", "tag", "expected"),
    [
        ("Zuzana lives here.", "en", ["Zuzana"]),
        ("Patience lives in every house.", "en", []),  # an ordinary word at the beginning
        ("We met Bill.", "en", ["Bill"]),  # an ordinary word inside, which is also a name
        ("Bill us later.", "en", []),
        ("Mr. Baker is here.", "en", ["Baker"]),  # an ordinary word behind a title
        ("Frau Müller und Herr Präsident", "de", ["Müller"]),
        ("On Monday I go to school in March.", "en", []),
        ("She said: Patience helps.", "en", []),
        ("The Ministry Of Silly Walks And Talks", "en", []),
        ("WARNING: DO NOT OPEN", "en", []),
        ("Der Hund von Zuzana liebt Wasser.", "de", ["Zuzana"]),
        ("Das Donaudampfschiff kommt.", "de", []),
        ("Hier, je suis chez Thibault.", "fr", ["Thibault"]),
        ("Does the Nordlys Pro work?", "en", ["Nordlys", "Pro"]),
        ("It has pro and contra, Plus a lot.", "en", []),
        ("Pro Person kostet es mehr.", "de", []),
        ("Mr. Van der Linden met Ye-jin.", "en", ["Van der Linden", "Ye-jin"]),
        ("我在NHK工作。", "zh", ["NHK"]),
        ("PCを買った。", "ja", []),
        ("Ho visto Zuzana con RX-480.", "it", ["RX-480"]),
    ],
)
def test_names_by_language(text: str, tag: str, expected: list[str]) -> None:
    assert found(text, tag) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Write to @lena.paints now.", ["@lena.paints"]),
        ("a RX-480, an A4, a B2B-X and WRB-1001", ["RX-480", "A4", "B2B-X", "WRB-1001"]),
        ("use Tiger_2020 and report_v2.pdf", ["Tiger_2020", "report_v2.pdf"]),
        ("a USB-C cable, UV-B light", ["USB-C", "UV-B"]),
        ("an X-ray, a T-shirt, IN-N-OUT, LONGER-X", []),
        ("the Velox 5 and Velox 6", ["Velox 5"]),
        ("at 5pm, 10km, the 3rd, 24-hour, 9:30, EUR50", []),
        ("mail lena@example.com or https://example.com/A4", []),
    ],
)
def test_handles_and_codes(text: str, expected: list[str]) -> None:
    assert [each.text for each in candidates_in(text, "en") if each.kind is CandidateKind.CODE] == expected


@pytest.mark.parametrize(
    ("text", "tag", "expected"),
    [
        ("Jänner und Feber sind kalt, Oktober ist schön.", "de", []),
        ("See you on Jan 5, Aug 6 or in March.", "en", []),
        ("Mars est un mois froid.", "fr", []),
        ("Frau Sommer kommt im März.", "de", ["Sommer"]),
    ],
)
def test_calendar_words_are_no_names(text: str, tag: str, expected: list[str]) -> None:
    assert [each.text for each in candidates_in(text, tag)] == expected


def test_positions_are_those_of_the_text() -> None:
    text = "We saw Zuzana with the RX-480."
    assert [text[each.start : each.end] for each in candidates_in(text, "en")] == ["Zuzana", "RX-480"]


def test_number_of_candidates_is_bounded() -> None:
    assert len(found("we saw " + "Zuzana " * 200)) == MAX_CANDIDATES
    assert len(found("RX-480 " * 200)) == MAX_CANDIDATES


def phrase(text: str, name: str, language: str, kind: CandidateKind = CandidateKind.NAME) -> Candidate:
    start = text.index(name)
    return whole_name(text, Candidate(start, start + len(name), kind, name), language)


@pytest.mark.parametrize(
    ("text", "name", "language"),
    [
        ("a Boston-based firm", "Boston", "en"),  # an ordinary word behind the hyphen
        ("Give Tom 3 apples.", "Tom", "en"),  # no article, so a count
        ("the Velox 5%", "Velox", "en"),
        ("the Velox 5:30", "Velox", "en"),
        ("the Velox 5 p.m.", "Velox", "en"),
        ("the Velox 5000", "Velox", "en"),
        ("Er gab der Anna 3 Äpfel.", "Anna", "de"),  # a count before a noun
        ("il Velox 5", "Velox", "it"),  # no articles of this language are known
        ("Paul de Reims", "Reims", "fr"),  # a preposition
        ("der Sohn von Zuzana", "Zuzana", "de"),
        ("from der Linden", "Linden", "en"),  # no capital before the particle
        ("Zuzana", "Zuzana", "en"),
        ("", "", "en"),
    ],
)
def test_name_alone_stays_as_it_is(text: str, name: str, language: str) -> None:
    assert phrase(text, name, language).text == name


@pytest.mark.parametrize(
    ("text", "name", "language", "expected"),
    [
        ("Can Ye-jin come?", "Ye", "en", "Ye-jin"),
        ("Is the Velox 5 fast?", "Velox", "en", "Velox 5"),
        ("das neue Velox 12", "Velox", "de", "Velox 12"),
        ("avec mon Velox 5.", "Velox", "fr", "Velox 5"),
        ("el Velox 5", "Velox", "es", "Velox 5"),
        ("Mr. Van der Linden plays.", "Linden", "en", "Van der Linden"),
        ("Frau van der Linden spielt.", "Linden", "de", "van der Linden"),
        ("Tom von Bergen", "Bergen", "en", "von Bergen"),
        ("Marta de Souza", "Souza", "de", "de Souza"),
    ],
)
def test_parts_of_a_name_belong_to_it(text: str, name: str, language: str, expected: str) -> None:
    found = phrase(text, name, language)
    assert found.text == expected == text[found.start : found.end]


def test_product_with_a_number_is_a_code() -> None:
    assert phrase("the Velox 5", "Velox", "en").kind is CandidateKind.CODE
    assert phrase("a USB 3", "USB", "en", CandidateKind.ACRONYM).text == "USB"


def test_listed_languages() -> None:
    assert {"en", "de", "fr", "es"} == LISTED


@pytest.mark.parametrize(
    ("word", "language", "expected"),
    [
        *[("Water", "en", True), ("Watering", "en", True), ("Zuzana", "en", False), ("Robert", "en", False)],
        *[("Dampfschifffahrt", "de", True), ("Zuzana", "de", False), ("Bonjour", "fr", True), ("Lunes", "es", True)],
        ("Acqua", "it", False),
    ],
)
def test_words_that_may_be_ordinary(word: str, language: str, expected: bool) -> None:
    assert may_be_ordinary(word, language) is expected


@pytest.mark.parametrize(("word", "expected"), [("Monday", True), ("Bill", False), ("Zuzana", False), ("German", True)])
def test_words_inside_a_sentence(word: str, expected: bool) -> None:
    assert is_ordinary_inside(word, "en") is expected


def test_compounds_count_in_joining_languages_only() -> None:
    assert is_ordinary_among("zugfahrt", {"fahrt"}, joins=True)
    assert not is_ordinary_among("zugfahrt", {"fahrt"}, joins=False)


@pytest.mark.parametrize(
    ("word", "pair", "expected"),
    [
        ("germany", ("en", "fr"), "allemagne"),
        ("vienna", ("en", "de"), "wien"),
        ("allemand", ("fr", "de"), "deutsch"),
        ("germany", ("en", "zh-Hant"), "德國"),
    ],
)
def test_translated_places_and_languages(word: str, pair: tuple[str, str], expected: str) -> None:
    assert expected in translated_words(word, LanguagePair(*pair))


def test_unchanged_and_unknown_names_have_no_translations() -> None:
    assert translated_words("berlin", LanguagePair("en", "de")) == frozenset()
    assert translated_words("york", LanguagePair("en", "fr")) == frozenset()
    assert translated_words("germany", LanguagePair("en", "tlh")) == frozenset()


def test_a_name_that_keeps_the_word_gives_nothing() -> None:
    assert "nueva" not in translated_words("york", LanguagePair("en", "es"))
    assert "nueva" in translated_words("new", LanguagePair("en", "es"))


def test_languages_are_read_once() -> None:
    assert place_names_of("de") is place_names_of("de")
    assert not place_names_of("tlh").words


def test_words_around_names_are_of_the_listed_languages() -> None:
    assert NAME_WORDS.articles.keys() == NAME_WORDS.particles.keys() == LISTED
    assert {"Frau", "Mr"} <= NAME_WORDS.forms_of_address
