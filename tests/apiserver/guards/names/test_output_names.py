"""Output names: forms in which an output may have a name."""

from __future__ import annotations

import pytest

from apiserver.guards.names.candidate import Candidate, CandidateKind
from apiserver.guards.names.output_names import OutputNames
from shared.languages import LanguagePair


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
