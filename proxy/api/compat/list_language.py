"""List language: that of most of a list's text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fastapi import Request

from proxy.context import context
from proxy.routing.language_detector import Detection
from shared.protocol.answers import Detected
from shared.protocol.translate_request import TextFormat

# The best served language of a short text such as "Home" has more, that of a text in another language less.
MIN_CONFIDENCE: Final = 0.1
# A word or two, which dictionaries look up; the language of a longer text is detected, or not served.
MAX_GUESSED_CHARS: Final = 25


async def find_list_language(
    request: Request, texts: Sequence[str], text_format: TextFormat, *, allows_foreign: bool
) -> Detected | None:
    """Return a list's likeliest language.

    None if no text has one, and they are longer than ``MAX_GUESSED_CHARS`` together; or, unless ``allows_foreign``, if a text seems to be in a language that is not served.
    """
    parts = context(request)
    detection = parts.translation.detection
    detections = await detection.detect(texts, parts.fleet.registry.snapshot, text_format)
    is_detected = any(each.detected for each in detections)
    if not is_detected and sum(map(len, texts)) > MAX_GUESSED_CHARS:
        return None
    for text, each in zip(texts, detections, strict=True):
        if (allows_foreign and is_detected) or (each.candidates and each.candidates[0].confidence >= MIN_CONFIDENCE):
            continue
        if (await detection.score(text, text_format)).has_visible_words:
            return None
    return next(iter(average(texts, detections)), None)


def average(texts: Sequence[str], detections: Sequence[Detection]) -> list[Detected]:
    """Return the languages of a list of texts, the likeliest first.

    A confidence is the mean of the texts that have this candidate. Languages of more text come first.
    """
    found: dict[str, list[tuple[float, int]]] = {}
    for text, detection in zip(texts, detections, strict=True):
        for candidate in detection.candidates:
            found.setdefault(candidate.lang, []).append((candidate.confidence, len(text)))

    def mean(lang: str) -> float:
        return sum(confidence for confidence, _ in found[lang]) / len(found[lang])

    def weight(lang: str) -> float:
        return mean(lang) * sum(chars for _, chars in found[lang])

    ranked = sorted(found, key=weight, reverse=True)
    return [Detected(lang=lang, confidence=mean(lang)) for lang in ranked]
