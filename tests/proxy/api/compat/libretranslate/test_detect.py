"""Languages of a list: the mean confidence, the most text first."""

from __future__ import annotations

from proxy.api.compat.libretranslate.detect import average, language_answer
from proxy.routing.language_detector import Detection
from shared.protocol.answers import Detected


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
    assert language_answer(None) == {"confidence": 0.0, "language": "en"}
    assert language_answer(Detected(lang="zh", confidence=0.98765)) == {"confidence": 98.8, "language": "zh-Hans"}
