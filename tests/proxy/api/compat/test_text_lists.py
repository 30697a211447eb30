"""Language of a list: texts too short to detect, texts in another language, the mean confidence, the most text first."""

from __future__ import annotations

import pytest

from proxy.api.compat.text_lists import average
from proxy.routing.language_detector import Detection
from shared.protocol.answers import Detected
from tests.proxy.integration.inputs import ENGLISH, GERMAN, RUSSIAN
from tests.proxy.proxies import RunningProxy, fleet_fixtures

SHORT = ["Home", "About us", "Share"]


fake, running, fresh = fleet_fixtures("en>de", "de>en", "fr>en", "es>en")


@pytest.mark.parametrize(
    "texts", [[ENGLISH, RUSSIAN], [ENGLISH, *SHORT, RUSSIAN], [RUSSIAN, *SHORT], ["привет"], [*SHORT, *SHORT]]
)
async def test_list_without_a_language_is_refused(running: RunningProxy, texts: list[str]) -> None:
    answer = await running.client.post("/imme", json={"target_lang": "de", "text_list": texts})
    assert (answer.status_code, answer.json()["error"]) == (422, "language-undetected")


async def test_short_texts_have_the_lists_language(running: RunningProxy) -> None:
    texts = ["Home", ENGLISH, "", *SHORT]
    expected = [f"[en>de by fake] {text}" for text in texts]
    answer = await running.client.post("/imme", json={"target_lang": "de", "text_list": texts})
    found = answer.json()["translations"]
    assert [each["text"] for each in found] == expected
    assert {each["detected_source_lang"] for each in found} == {"en"}
    answer = await running.client.post("/kiss", json={"from": "auto", "to": "de", "texts": texts})
    assert answer.json()["translations"] == [{"text": text, "src": "en"} for text in expected]
    answer = await running.client.post("/v2/translate", json={"target_lang": "DE", "text": texts})
    found = answer.json()["translations"]
    assert [each["text"] for each in found] == expected
    assert {each["detected_source_language"] for each in found} == {"EN"}


@pytest.mark.parametrize("texts", [["Home"], ["Hi"], SHORT, ["Home", "", "123"]])
async def test_a_word_or_two_have_the_likeliest_language(running: RunningProxy, texts: list[str]) -> None:
    expected = [f"[en>de by fake] {text}" for text in texts]
    answer = await running.client.post("/imme", json={"target_lang": "de", "text_list": texts})
    assert [each["text"] for each in answer.json()["translations"]] == expected
    answer = await running.client.post("/libretranslate/translate", json={"q": texts, "source": "auto", "target": "de"})
    assert answer.json()["translatedText"] == expected
    answer = await running.client.post("/deeplx/translate", json={"text": texts[0], "target_lang": "DE"})
    assert (answer.json()["data"], answer.json()["source_lang"]) == (expected[0], "EN")


async def test_short_texts_among_tags_have_the_lists_language(running: RunningProxy) -> None:
    answer = await running.client.post("/imme", json={"target_lang": "de", "text_list": ["<b0></b0>", ENGLISH, "Home"]})
    assert answer.status_code == 200


async def test_list_in_the_target_language_is_returned(running: RunningProxy) -> None:
    texts = [GERMAN, "Home"]
    answer = await running.client.post("/imme", json={"target_lang": "de", "text_list": texts})
    assert [each["text"] for each in answer.json()["translations"]] == texts


def detection(**confidences: float) -> Detection:
    candidates = [Detected(lang=lang, confidence=confidence) for lang, confidence in confidences.items()]
    return Detection(detected=candidates[0] if candidates else None, candidates=candidates)


def test_one_text_keeps_its_order() -> None:
    found = average(["Hallo"], [detection(de=0.9, nl=0.1)])
    assert found == [Detected(lang="de", confidence=0.9), Detected(lang="nl", confidence=0.1)]


def test_confidence_is_the_mean_of_the_texts_that_have_it() -> None:
    found = average(["ab", "cd", "ef"], [detection(de=0.9), detection(de=0.5, en=0.4), detection()])
    assert found == [Detected(lang="de", confidence=0.7), Detected(lang="en", confidence=0.4)]


def test_language_of_more_text_comes_first() -> None:
    found = average(["x" * 10, "y" * 100], [detection(de=0.9), detection(en=0.6)])
    assert [each.lang for each in found] == ["en", "de"]


def test_texts_without_words_have_no_language() -> None:
    assert average(["", "😀"], [detection(), detection()]) == []
