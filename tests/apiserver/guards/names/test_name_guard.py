"""Lost names: examples by hand, of translations that keep and lose names."""

from __future__ import annotations

from random import Random

import pytest

from apiserver.guards.names.candidates import MAX_CHARS
from apiserver.guards.names.name_guard import load_names, lost_names
from apiserver.guards.names.place_names import place_names_of
from apiserver.guards.names.transliteration import MOST_WORDS
from shared.languages import LanguagePair


def pair_of(direction: str) -> LanguagePair:
    source, target = direction.split("-")
    return LanguagePair(source, target)


@pytest.mark.parametrize(
    ("direction", "source", "output", "lost"),
    [
        ("en-de", "My name is Anna and I live in Boston.", "Mein Name ist ein Namba und ich lebe in Boston.", "Anna"),
        ("en-de", "Zuzana is at home.", "Ascheburg ist zu Hause.", "Zuzana"),
        ("en-de", "Zuzana is at home.", "Sie ist zu Hause.", "Zuzana"),
        ("en-de", "We met Anna Bell in the park.", "Wir trafen Anna im Park.", "Bell"),
        ("en-es", "I think María Rose called.", "Creo que llamó María.", "Rose"),
        ("en-de", "I met Apolonia today.", "Ich habe heute Apolonie getroffen.", "Apolonia"),
        ("en-fr", "I met Emmanuelle today.", "J'ai rencontré Emmanuel aujourd'hui.", "Emmanuelle"),
        ("en-fr", "I met Ifeoma on the bus.", "J'ai rencontré Isabelle dans le bus.", "Ifeoma"),
        ("en-es", "We follow @pairway_news here.", "Aquí seguimos a @noticias.", "@pairway_news"),
        ("en-fr", "I met Sigrun.", "J'ai rencontré Sigruner.", "Sigrun"),
        ("de-en", "Die Miete in Uelzen ist hoch.", "The rent in Uelsen is high.", "Uelzen"),
        ("de-en", "Bartosz arbeitet bei Hellwerk.", "Bartosz works at Hellet.", "Hellwerk"),
        ("en-de", "Look at it on Instagram.", "Sieh es dir im Netz an.", "Instagram"),
        ("en-de", "The RX-480 is broken.", "Der RX-840 ist kaputt.", "RX-480"),
        ("en-fr", "The password is Tiger_2020.", "Le mot de passe est Tigre_2020.", "Tiger_2020"),
        ("en-de", "The FBI called.", "Die Polizei hat angerufen.", "FBI"),
        ("de-en", "Gestern kam Zuzana nach Hause.", "Yesterday Helen came home.", "Zuzana"),
        ("fr-en", "Hier, Thibault est venu.", "Yesterday, Paul came.", "Thibault"),
        ("en-ja", "Robert is at home.", "家にいます。", "Robert"),
        ("en-ko", "Robert is at home.", "마이클은 집에 있다.", "Robert"),
        ("ja-en", "昨日Kubernetesを使った。", "I used Docker yesterday.", "Kubernetes"),
        ("zh-en", "我的iPhone坏了。", "My phone is broken.", "iPhone"),
    ],
)
def test_lost_names_are_found(direction: str, source: str, output: str, lost: str) -> None:
    assert lost_names(source, output, pair_of(direction)) == (lost,)


@pytest.mark.parametrize(
    ("direction", "source", "output"),
    [
        ("en-de", "Tom's sister lives in Munich.", "Toms Schwester wohnt in München."),
        ("de-fr", "Annas Buch liegt hier.", "Le livre d'Anna est ici."),
        ("en-fr", "I came from Germany on Monday.", "Je suis venu d'Allemagne lundi."),
        ("en-fr", "We flew to London.", "Nous avons pris l'avion pour Londres."),
        ("en-de", "Mr. Smith speaks French.", "Herr Smith spricht Französisch."),
        ("en-es", "Elizabeth saw Alexander in March.", "Elisabeth vio a Alexandre en marzo."),
        ("en-de", "NATO and the UN agree.", "Die NATO und die UN sind sich einig."),
        ("en-fr", "NATO and the EU agree.", "L'OTAN et l'UE sont d'accord."),
        ("en-de", "WARNING: DO NOT ENTER THE BUILDING", "ACHTUNG: GEBÄUDE NICHT BETRETEN"),
        ("en-de", "Department of Health and Human Services", "Ministerium für Gesundheit und Soziales"),
        ("en-de", "They run the Dataverse Connection Setup here.", "Sie starten hier die Dataverse-Verbindung."),
        ("en-fr", "Use the OneDrive Setup instead.", "Utilisez la configuration de OneDrive."),
        ("en-de", "We saw it on Monday Zuzana said.", "Am Montag sahen wir es, sagte Zuzana."),
        ("en-fr", "Patience is a virtue.", "La patience est une vertu."),
        ("de-en", "Das Donaudampfschiff legt ab.", "The Danube steamer casts off."),
        ("de-en", "Die Patientin nahm die Tabletten.", "The patient took the pills."),
        ("en-de", "World War II ended before Elizabeth II was queen.", "Der Zweite Weltkrieg endete vor Elisabeth II."),
        ("en-de", "I met Dr. Smith and Mrs. Jones.", "Ich traf Dr. Smith und Frau Jones."),
        ("de-en", "Herr Bundeskanzler Scholz sprach.", "Chancellor Scholz spoke."),
        ("en-de", "Tom XIV came at 5pm on the 3rd.", "Tom XIV. kam am 3. um 17 Uhr."),
        ("en-de", "Order the RX-480 now.", "Bestelle jetzt die RX 480."),
        ("en-ja", "Robert is in Germany.", "ロバートはドイツにいます。"),
        ("en-ja", "Mr. Tanaka is here.", "田中さんはここにいます。"),
        ("en-ko", "Robert is at home.", "로버트는 집에 있다."),
        ("en-zh", "Robert is at home.", "罗伯特在家。"),
        ("ja-en", "トムはCDを買った。", "Tom bought a record."),
        ("it-en", "Ho visto Zuzana.", "I saw her."),  # no list of Italian words: nothing is said
        ("de-en", "Im Januar und Februar ist es kalt.", "It is cold in January and February."),
        ("en-ko", "Who is with Tom?", "Tom과 같이 있는 사람이 누구야?"),
        ("en-de", "", ""),
    ],
)
def test_kept_and_translated_names_are_no_alarm(direction: str, source: str, output: str) -> None:
    assert lost_names(source, output, pair_of(direction)) == ()


def test_names_are_loaded_for_languages_with_a_list() -> None:
    place_names_of.cache_clear()
    load_names([pair_of("en-de"), pair_of("it-pl")])
    assert place_names_of.cache_info().currsize == 2


def test_long_texts_are_not_compared() -> None:
    source = "Zuzana sleeps. ".ljust(MAX_CHARS)
    assert lost_names(source, "Sie schläft.", pair_of("en-de")) == ("Zuzana",)
    assert lost_names(f"{source} ", "Sie schläft.", pair_of("en-de")) == ()


def test_each_lost_name_is_given_once() -> None:
    assert lost_names("Zuzana met Ifeoma, and Zuzana left.", "Sie ging.", pair_of("en-de")) == ("Zuzana", "Ifeoma")


@pytest.mark.no_cover
@pytest.mark.parametrize(
    "part", ["Zuzana ", "RX-480 ", "@", "A1-", "a", "Ab", "\ud800", "\0", "A_", "\U000f0000", "ア", "가", "'"]
)
@pytest.mark.parametrize("direction", ["en-de", "de-en", "en-ja", "en-ko", "ja-en"])
def test_hostile_texts_are_bearable(part: str, direction: str) -> None:
    text = part * (MAX_CHARS // len(part))
    assert isinstance(lost_names(text, text[:-1], pair_of(direction)), tuple)
    assert isinstance(lost_names(text, "x", pair_of(direction)), tuple)


@pytest.mark.no_cover
@pytest.mark.parametrize("direction", ["en-de", "en-ja", "en-ko"])
def test_many_names_in_many_words_are_bearable(direction: str) -> None:
    random = Random(1)  # noqa: S311 - a text, no secret
    names = ["".join(random.choices("bdfgklmnprst", k=38)).capitalize() for _ in range(40)]
    words = [
        "".join(random.choices(letters, k=40)) for letters in ("가난도라마", "カナトラマ") for _ in range(MOST_WORDS)
    ]
    words += ["".join(random.choices("abdfgiklmnoprst", k=4)).capitalize() for _ in range(2_000)]
    source = f"We met {', and '.join(names)}."
    assert isinstance(lost_names(source, " ".join(words), pair_of(direction)), tuple)
