"""Language identification, restricted to what is served."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proxy.routing.language_detector import LanguageDetector
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


CHANGES: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "upper case": str.upper,
    "many lines": lambda text: text.replace(" ", "\n"),
    "long": lambda text: text * 1000,
}


@pytest.mark.parametrize("lang", SENTENCES)
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_sentence_is_detected(detector: LanguageDetector, lang: str, change: Callable[[str], str]) -> None:
    found = detector.detect(change(SENTENCES[lang]), SERVED, "text")
    assert found.lang == lang
    assert 0.5 < found.confidence <= 1


@pytest.mark.parametrize(
    "text", ["Сегодня хорошая погода.", "今日はいい天気です。", "12345", "😀😀", "...", "\x00", "\u2028"]
)
def test_unserved_language_is_undetected(detector: LanguageDetector, text: str) -> None:
    with pytest.raises(LanguageUndetectedError) as caught:
        detector.detect(text, SERVED, "text[3]")
    assert "text[3]" in caught.value.detail
    assert text not in caught.value.detail
    assert {each["lang"] for each in caught.value.facts["candidates"]} == SERVED


def test_nothing_is_detected_without_served_languages(detector: LanguageDetector) -> None:
    with pytest.raises(LanguageUndetectedError) as caught:
        detector.detect(SENTENCES["en"], frozenset(), "text")
    assert caught.value.facts == {"candidates": []}


def test_served_locale_stands_for_its_language(
    detector: LanguageDetector,
) -> None:
    assert detector.detect(SENTENCES["en"], {"en-GB", "de"}, "text").lang == "en-GB"
    assert detector.detect(SENTENCES["en"], {"en", "de"}, "text").lang == "en"
    assert (
        detector.detect(
            "Jeg vet ikke hva jeg skal gjøre i morgen, men vi må snakke med ham først.", {"nb", "en"}, "text"
        ).lang
        == "nb"
    )
    with pytest.raises(LanguageUndetectedError):
        detector.detect(SENTENCES["fr"], {"en", "de"}, "text")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.text())
def test_any_text_is_detected_or_undetected(detector: LanguageDetector, text: str) -> None:
    try:
        found = detector.detect(text, SERVED, "text")
    except LanguageUndetectedError:
        return
    assert found.lang in SERVED
    assert 0 < found.confidence <= 1
