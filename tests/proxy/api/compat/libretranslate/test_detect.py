"""A detected language's JSON."""

from __future__ import annotations

from proxy.api.compat.libretranslate.detect import language_answer
from shared.protocol.answers import Detected


def test_language_of_a_text() -> None:
    assert language_answer(None) == {"confidence": 0.0, "language": "en"}
    assert language_answer(Detected(lang="zh", confidence=0.98765)) == {"confidence": 98.8, "language": "zh-Hans"}
