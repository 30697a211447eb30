"""Language groups: the texts of one request by detected language."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from proxy.fleet.snapshot import Snapshot
from proxy.metrics import ProxyMetrics
from proxy.routing.language_detector import LanguageDetector
from proxy.translation.detection import DetectionService
from shared.languages import LanguagePair, closeness
from shared.protocol.answers import Detected, Translation, same_language, unchanged
from shared.protocol.errors import LanguageUndetectedError
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


class LanguageGrouper:
    """Detector of the languages of a request's texts; stateless."""

    def __init__(self, detector: LanguageDetector, detection: DetectionService, metrics: ProxyMetrics) -> None:
        self._detector = detector
        self._detection = detection
        self._metrics = metrics

    async def group(self, request: TranslateRequest, snapshot: Snapshot) -> LanguageGroups:
        """Group the texts by language: a source language or the target language.

        Markup without visible words is detected as a whole; if that fails, it is returned unchanged.

        Raises:
            LanguageUndetectedError: a text has none of these languages.
        """
        groups = LanguageGroups(request)
        # With the target language, because a text in it needs no translation.
        languages = {*snapshot.source_languages, request.target_lang}
        direct = {pair.source for pair in snapshot.by_target.get(request.target_lang, ())}
        for index, text in enumerate(request.texts):
            scores, has_visible_words = await self._detection.score(text, request.format)
            if scores is None:
                groups.results[index] = unchanged(text, None, request.target_lang)
                continue
            where = "text" if isinstance(request.text, str) else f"text[{index}]"
            try:
                detected = self._detector.choose(scores, languages if has_visible_words else direct, where)
            except LanguageUndetectedError:
                if has_visible_words:
                    raise
                groups.results[index] = unchanged(text, None, request.target_lang)
                continue
            self._metrics.detected.labels(detected.lang).inc()
            if closeness(request.target_lang, detected.lang) is not None:
                groups.results[index] = same_language(text, detected.lang, request.target_lang, detected)
                continue
            groups.detected[index] = detected
            groups.indices[detected.lang].append(index)
        return groups
