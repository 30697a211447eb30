"""The language of a text, and the lists of languages that are served."""

from __future__ import annotations

from collections.abc import Callable, Collection

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.routing.language_detector import (
    MAX_CANDIDATES,
    MAX_SERVED_SETS,
    MIN_SERVED_SHARE,
    LanguageDetector,
    LanguageScores,
)
from shared.protocol.answers import Detected
from shared.protocol.errors import LanguageUndetectedError

SERVED = frozenset({"en", "de", "fr"})
SENTENCES = {
    "en": "The committee meets tomorrow morning to discuss the new budget.",
    "de": "Der Ausschuss trifft sich morgen früh, um den neuen Haushalt zu besprechen.",
    "fr": "Le comité se réunit demain matin pour discuter du nouveau budget.",
}


@pytest.fixture(scope="module")
def detector() -> LanguageDetector:
    return LanguageDetector()


def detect(detector: LanguageDetector, text: str, served: Collection[str], where: str) -> Detected:
    return detector.choose(detector.score(text), served, where)


CHANGES: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "upper case": str.upper,
    "many lines": lambda text: text.replace(" ", "\n"),
    "long": lambda text: text * 1000,
}


@pytest.mark.parametrize("lang", SENTENCES)
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_sentence_is_detected(detector: LanguageDetector, lang: str, change: Callable[[str], str]) -> None:
    found = detect(detector, change(SENTENCES[lang]), SERVED, "text")
    assert found.lang == lang
    assert 0.5 < found.confidence <= 1


@pytest.mark.parametrize(
    "text", ["Сегодня хорошая погода.", "今日はいい天気です。", "12345", "😀😀", "...", "\x00", "\u2028"]
)
def test_unserved_language_is_undetected(detector: LanguageDetector, text: str) -> None:
    with pytest.raises(LanguageUndetectedError) as caught:
        detect(detector, text, SERVED, "text[3]")
    assert "text[3]" in caught.value.detail
    assert text not in caught.value.detail
    assert {each["lang"] for each in caught.value.facts["candidates"]} == SERVED


@pytest.mark.parametrize(
    ("text", "lang"), [("Сегодня хорошая погода.", "ru"), ("今日はいい天気です。", "ja"), ("مرحبا بكم في المتحف", "ar")]
)
def test_unserved_language_is_named(detector: LanguageDetector, text: str, lang: str) -> None:
    listed = detector.list_candidates(detector.score(text), SERVED)
    assert listed.unserved is not None
    assert (listed.detected, listed.unserved.lang) == (None, lang)
    assert 0.5 <= listed.unserved.confidence <= 1
    with pytest.raises(LanguageUndetectedError) as caught:
        detect(detector, text, SERVED, "text")
    assert caught.value.facts["unserved"] == listed.unserved.model_dump()
    assert detector.list_candidates(detector.score(text), {*SERVED, lang}).unserved is None


@pytest.mark.parametrize(
    "scores",
    [
        LanguageScores(["ru"], [0.4], has_letters=True),
        LanguageScores(["ru"], [0.9], has_letters=False),
        LanguageScores(["not a tag"], [0.9], has_letters=True),
    ],
)
def test_guess_of_an_unserved_language_is_not_named(detector: LanguageDetector, scores: LanguageScores) -> None:
    assert detector.list_candidates(scores, SERVED).unserved is None


def test_nothing_is_detected_without_served_languages(detector: LanguageDetector) -> None:
    with pytest.raises(LanguageUndetectedError) as caught:
        detect(detector, SENTENCES["en"], frozenset(), "text")
    assert caught.value.facts["candidates"] == []


def test_served_locale_stands_for_its_language(detector: LanguageDetector) -> None:
    assert detect(detector, SENTENCES["en"], {"en-GB", "de"}, "text").lang == "en-GB"
    assert detect(detector, SENTENCES["en"], {"en", "de"}, "text").lang == "en"
    assert (
        detect(
            detector, "Jeg vet ikke hva jeg skal gjøre i morgen, men vi må snakke med ham først.", {"nb", "en"}, "text"
        ).lang
        == "nb"
    )
    with pytest.raises(LanguageUndetectedError):
        detect(detector, SENTENCES["fr"], {"en", "de"}, "text")


@given(st.text())
def test_any_text_is_detected_or_undetected(detector: LanguageDetector, text: str) -> None:
    try:
        found = detect(detector, text, SERVED, "text")
    except LanguageUndetectedError:
        return
    assert found.lang in SERVED
    assert 0 < found.confidence <= 1


@given(st.text())
def test_listed_candidate_is_the_chosen_language(detector: LanguageDetector, text: str) -> None:
    scores = detector.score(text)
    listed = detector.list_candidates(scores, SERVED)
    try:
        chosen = detector.choose(scores, SERVED, "text")
    except LanguageUndetectedError:
        chosen = None
    assert listed.detected == chosen
    assert listed.candidates[:1] == [chosen] or chosen is None
    confidences = [each.confidence for each in listed.candidates]
    assert confidences == sorted(confidences, reverse=True)
    assert all(0 < each <= 1 for each in confidences)


def test_unlikely_languages_have_low_confidences(detector: LanguageDetector) -> None:
    scores = LanguageScores(["ru", "en"], [0.95, MIN_SERVED_SHARE / 2], has_letters=True)
    listed = detector.list_candidates(scores, SERVED)
    assert (listed.detected, listed.candidates) == (None, [Detected(lang="en", confidence=0.5)])


def test_text_without_letters_has_candidates_at_most(detector: LanguageDetector) -> None:
    listed = detector.list_candidates(LanguageScores(["en"], [0.9], has_letters=False), SERVED)
    assert (listed.detected, listed.candidates) == (None, [Detected(lang="en", confidence=1.0)])


def test_candidates_are_few(detector: LanguageDetector) -> None:
    many = ["en", "de", "fr", "es", "it", "pt", "nl"]
    scores = LanguageScores(many, [0.1] * len(many), has_letters=True)
    assert len(detector.list_candidates(scores, many).candidates) == MAX_CANDIDATES


def test_every_set_of_served_languages_has_its_own_answer(detector: LanguageDetector) -> None:
    scores = detector.score(SENTENCES["en"])
    sets = [{"de", f"en-{region}"} for region in ("GB", "US", "AU")] * MAX_SERVED_SETS
    for served in sets:
        assert {detector.choose(scores, served, "text").lang} == served - {"de"}
    for number in range(100, 200):
        assert detector.choose(scores, {"de", f"en-{number}"}, "text").lang == f"en-{number}"
    assert detector.served_sets == MAX_SERVED_SETS
