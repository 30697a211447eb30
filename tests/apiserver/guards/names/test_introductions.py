"""Introductions: words that are names behind some words, and words that are none even there."""

from __future__ import annotations

import pytest

from apiserver.guards.names.candidates import MAX_CHARS, candidates_in
from apiserver.guards.names.name_guard import lost_names
from apiserver.guards.names.word_lists import LISTED, NAME_WORDS, may_be_ordinary
from shared.languages import LanguagePair

NAMES = [
    ("en", "My name is Noah.", "Noah"),
    ("en", "my name's Grace", "Grace"),
    ("en", "Hello, this is Joy.", "Joy"),
    ("en", "My son is called Hunter.", "Hunter"),
    ("en", "She is named Hope Nwosu.", "Hope"),
    ("en", "Where is Mr Price?", "Price"),
    ("en", "I’m Noah.", "Noah"),
    ("en", "Hi Anna, I'm Noah.", "Noah"),
    ("de", "Ich heiße Rose.", "Rose"),
    ("de", "Wo ist Herr Koch?", "Koch"),
    ("de", "Mein Bruder heißt Wolf.", "Wolf"),
    ("de", "Ich komme aus Essen.", "Essen"),
    ("fr", "Je m'appelle Pierre.", "Pierre"),
    ("fr", "Voici Marine.", "Marine"),
    ("fr", "Je cherche M. Petit.", "Petit"),
    ("es", "Me llamo Pilar.", "Pilar"),
    ("es", "Esta es Luz.", "Luz"),
    ("es", "Soy Ángel.", "Ángel"),
]
NO_NAMES = [
    *[("en", f"This is {word}.") for word in ("English", "Catholic", "Christmas", "March", "Monday", "Summer", "Mum")],
    *[("en", f"They are called {word}.") for word in ("Americans", "Poles", "Muslims", "Mondays")],
    *[("de", f"Er heißt {word}.") for word in ("Franzose", "Deutsch", "Weihnachten", "Montag", "März", "Gott")],
    *[("fr", f"C'est {word}.") for word in ("Noël", "Française", "Anglais", "Dimanche", "Janvier", "Dieu")],
    *[("es", f"Soy {word}.") for word in ("Española", "Alemana", "Mexicano")],
    ("es", "Esta es Navidad."),
    ("es", "Este es Enero."),
    ("en", "THIS IS GRACE"),
    ("en", "WARNING: THIS IS HOPE"),
    ("en", "My Name Is Grace"),  # a heading
    ("en", "A Hero Called Hope And Other Stories"),
    ("en", "my name is noah"),
    ("en", "Grace is important."),
    ("en", "They were late, and This was why."),
    ("en", "The team is called Customer Service."),
    ("en", "This is Price 12."),
    ("en", "It is renamed Hope's end, uncalled Grace"),  # no whole word before it
    ("de", "Das heißt Krieg."),
    ("de", "Was heißt Liebe auf Englisch?"),
    ("de", "Der Tisch ist aus Holz."),
    ("it", "Mi chiamo Rosa."),  # no list, so nothing is said
    ("en", "called "),
    ("en", ""),
]


@pytest.mark.parametrize(("language", "text", "name"), NAMES)
def test_introduced_word_is_a_name(language: str, text: str, name: str) -> None:
    assert may_be_ordinary(name, language)
    assert name in [each.text for each in candidates_in(text, language)]


@pytest.mark.parametrize(("language", "text"), NO_NAMES)
def test_other_words_are_no_names(language: str, text: str) -> None:
    assert [each.text for each in candidates_in(text, language) if each.is_word] == []


@pytest.mark.parametrize(
    ("direction", "source", "output", "lost"),
    [
        ("en-fr", "My name is Noah.", "Mon nom n'est pas le nah.", ("Noah",)),
        ("en-fr", "My name is Noah.", "Je m'appelle Noah.", ()),
        ("en-de", "Mr Baker called.", "Herr Brot hat angerufen.", ("Baker",)),
        ("de-en", "Ich komme aus Essen.", "I come from food.", ("Essen",)),
        ("de-en", "Ich komme aus Australien.", "I come from Australia.", ()),
        ("de-fr", "Ich wohne in Hamburg.", "J'habite à Hambourg.", ()),
        ("fr-en", "Il s'appelle Pierre.", "His name is Stone.", ("Pierre",)),
        ("es-en", "Me llamo Dolores.", "My name is pain.", ("Dolores",)),
    ],
)
def test_changed_word_is_a_lost_name(direction: str, source: str, output: str, lost: tuple[str, ...]) -> None:
    assert lost_names(source, output, LanguagePair(*direction.split("-"))) == lost


def test_every_listed_language_has_introductions() -> None:
    assert NAME_WORDS.introductions.keys() == NAME_WORDS.no_names.keys() == LISTED


@pytest.mark.no_cover
@pytest.mark.parametrize("part", ["My name is Noah. ", "called ", "I'm ", "This is Grace Stone", "heißt Essen ", "M. "])
@pytest.mark.parametrize("language", sorted(LISTED))
def test_hostile_texts_are_bearable(language: str, part: str) -> None:
    assert isinstance(candidates_in(part * (MAX_CHARS // len(part)), language), list)
