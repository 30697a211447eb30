"""Language groups: the texts of one request by detected language."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from shared.languages import LanguagePair
from shared.protocol.answers import Detected, Translation
from shared.protocol.translate_request import TranslateRequest


@dataclass(slots=True)
class LanguageGroups:
    """A request's texts by detected language, with the results so far.

    At first ``results`` has only texts that need no translation.
    """

    request: TranslateRequest
    indices: dict[str, list[int]] = field(default_factory=lambda: defaultdict[str, list[int]](list))
    detected: dict[int, Detected] = field(default_factory=dict[int, Detected])
    results: dict[int, Translation] = field(default_factory=dict[int, Translation])

    @property
    def pairs(self) -> dict[str, LanguagePair]:
        """The pair of each language's texts."""
        return {lang: LanguagePair(lang, self.request.target_lang) for lang in self.indices}

    def request_for(self, lang: str) -> TranslateRequest:
        """Return the request for one language's texts; a single text stays single."""
        if isinstance(self.request.text, str):
            return self.request
        return self.request.model_copy(update={"text": [self.request.text[index] for index in self.indices[lang]]})

    def add(self, lang: str, translations: Sequence[Translation]) -> None:
        """Add the translations of one language's texts."""
        for index, translation in zip(self.indices[lang], translations, strict=True):
            self.results[index] = translation.model_copy(update={"detected": self.detected[index]})

    def answer(self) -> bytes:
        """Return the answer's JSON; every text must have a result."""
        return self.request.answer([self.results[index] for index in range(len(self.request.texts))])
