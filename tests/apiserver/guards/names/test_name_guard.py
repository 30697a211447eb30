"""Name guard: names that outputs lost or mangled, and those that they have in any form."""

from __future__ import annotations

from random import Random

import pytest

from apiserver.guards.names.candidates import MAX_CHARS, Candidate, CandidateKind
from apiserver.guards.names.name_guard import OutputNames, load_names, lost_names, mangled_names
from apiserver.guards.names.spelling import MOST_WORDS
from apiserver.guards.names.word_lists import place_names_of
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
@pytest.mark.parametrize("direction", ["en-de", "de-en", "en-ja", "en-ko", "ja-en"])
def test_hostile_texts_are_bearable(direction: str) -> None:
    for part in ("Zuzana ", "RX-480 ", "@", "A1-", "a", "Ab", "\ud800", "\0", "A_", "\U000f0000", "ア", "가", "'"):
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


def has(name: str, output: str, target: str = "de", kind: CandidateKind = CandidateKind.NAME) -> bool:
    return OutputNames(output, LanguagePair("en", target)).has(Candidate(0, len(name), kind, name))


@pytest.mark.parametrize(
    ("name", "output", "target", "expected"),
    [
        ("Anna", "Annas Haus", "de", True),
        ("Anna", "Mein Name ist ein Namba", "de", False),
        ("Boston", "die Bostonreise", "de", True),
        ("Ann", "die Kanne", "de", False),
        ("Zoë", "Zoe kam", "de", True),
        ("Dąbrowska", "Frau Dăbrowska", "de", False),
        ("Munich", "in München", "de", True),
        ("Featherstone", "Frau Fatherstone", "de", False),
        ("Elizabeth", "Élisabeth est là", "fr", True),
        ("Vienna", "Wien ist schön", "de", True),
        ("Japan", "le Japon", "fr", True),
        ("Rosengatan", "in der rosengatan", "de", False),  # a name in small letters
        ("Eastvale", "la banque de l'éastvale", "fr", False),
        ("Sigrun", "Sigruner est là", "fr", False),  # a German ending
        ("Sigrun", "Sigruner Weg", "de", True),
        ("Boston", "Bostonreise", "fr", False),  # French joins no words
        ("Ye-jin", "Ye kam", "de", False),
        ("Ye-jin", "Yejin kam", "de", True),
        ("Van der Linden", "Monsieur Van dé Linden", "fr", False),
        ("Van der Linden", "Monsieur van der Linden", "fr", True),
        ("der Vienna", "Wien", "de", True),  # a translated name needs no particle
        ("Robert", "ロバートが来た", "ja", True),
        ("Robert", "トムが来た", "ja", False),
        ("Robert", "로버트가 왔다", "ko", True),
        ("Robert", "有人来了", "zh", True),  # nobody can tell
    ],
)
def test_names(name: str, output: str, target: str, expected: bool) -> None:
    assert has(name, output, target) is expected


def test_codes_are_kept_to_the_letter() -> None:
    assert has("RX-480", "die rx 480", kind=CandidateKind.CODE)
    assert not has("RX-480", "die RX-840", kind=CandidateKind.CODE)
    assert not has("RX-480", "die RX-4800", kind=CandidateKind.CODE)
    assert not has("USB-C", "das USB-Cabel", kind=CandidateKind.CODE)
    assert has("USB-C", "l'USB-C", kind=CandidateKind.CODE)
    assert has("PS5", "zwei PS5s", kind=CandidateKind.CODE)
    assert has("Velox 5", "das Velox-5-Kabel", kind=CandidateKind.CODE)
    assert not has("Velox 5", "Velox das 5", kind=CandidateKind.CODE)
    assert has("RX-480", "ＲＸ－４８０の箱", "ja", CandidateKind.CODE)


def test_small_letters_are_right_where_capitals_mean_nothing() -> None:
    sake = Candidate(0, 4, CandidateKind.NAME, "Sake")
    assert OutputNames("We make sake.", LanguagePair("de", "en")).has(sake)
    assert OutputNames("We make sake.", LanguagePair("ja", "en")).has(sake)
    assert not OutputNames("Nous faisons du sake.", LanguagePair("en", "fr")).has(sake)


def test_acronyms_may_change_their_order() -> None:
    assert has("NATO", "l'OTAN", "fr", CandidateKind.ACRONYM)
    assert not has("FBI", "la police", "fr", CandidateKind.ACRONYM)


def mangled(direction: str, source: str, output: str) -> list[str]:
    return list(mangled_names(source, output, LanguagePair(*direction.split("-"))))


@pytest.mark.parametrize(
    ("direction", "source", "output"),
    [
        ("de-en", "Anna arbeitet bei Hellwerk.", "Anna works at Hellwerk."),
        ("de-en", "Der Computer ist neu.", "The computer is new."),
        ("de-en", "Das Haus von Annas Bruder", "The house of Anna's brother"),
        ("de-en", "Die Regierung tagt.", "Registration is open."),  # too little in common
        ("de-fr", "Deutschland ist groß.", "L'Allemagne est grande."),
        ("de-en", "", ""),
        ("de-ja", "Hellwerk", "ヘルヴェルク"),
    ],
)
def test_other_words_are_no_alarm(direction: str, source: str, output: str) -> None:
    assert mangled(direction, source, output) == []


@pytest.mark.parametrize(
    ("direction", "source", "output", "expected"),
    [
        ("de-en", "Bartosz arbeitet bei Hellwerk.", "Bartosz works at Hellet.", ["Hellwerk"]),
        ("de-en", "Die Firma Nordhaus wächst.", "The company Nordhazu is growing.", ["Nordhaus"]),
        ("de-fr", "Er wohnt in Steinfurt.", "Il habite à Steinfurde.", ["Steinfurt"]),
    ],
)
def test_name_that_ends_otherwise_is_found(direction: str, source: str, output: str, expected: list[str]) -> None:
    assert mangled(direction, source, output) == expected


@pytest.mark.no_cover
def test_long_texts_are_compared_fast() -> None:
    assert not mangled("de-en", "Hellwerk " * 2_000, "A " * 5_000)
