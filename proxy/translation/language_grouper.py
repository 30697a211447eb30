"""Language grouper: detects the languages of a request's texts."""

from __future__ import annotations

from collections.abc import Sequence

from proxy.fleet.snapshot import Snapshot
from proxy.metrics import ProxyMetrics
from proxy.routing.language_detector import LanguageDetector
from proxy.routing.language_groups import LanguageGroups
from proxy.translation.detection import DetectionService, ScoredText
from shared.languages import closeness, language_and_script, language_of
from shared.protocol.answers import same_language, unchanged
from shared.protocol.errors import LanguageUndetectedError
from shared.protocol.translate_request import TranslateRequest
from shared.runtime.metrics import OTHER


class LanguageGrouper:
    """Detector of the languages of a request's texts; stateless."""

    def __init__(self, detector: LanguageDetector, detection: DetectionService, metrics: ProxyMetrics) -> None:
        self._detector = detector
        self._detection = detection
        self._metrics = metrics

    async def score(self, request: TranslateRequest) -> list[ScoredText]:
        """Score the texts for several groupings, such as one for each target."""
        return [await self._detection.score(text, request.format) for text in request.texts]

    async def group(
        self, request: TranslateRequest, snapshot: Snapshot, scored: Sequence[ScoredText] | None = None
    ) -> LanguageGroups:
        """Group the texts by language: a source language or the target language.

        Markup without visible words is detected as a whole; if that fails, it is returned unchanged. ``scored`` texts
        are not scored again.

        Raises:
            LanguageUndetectedError: a text has none of these languages.
        """
        groups = LanguageGroups(request)
        languages = possible_languages(snapshot, request.target_lang)
        served = {language_of(tag) for tag in (*snapshot.by_source, *snapshot.by_target)}
        direct = {pair.source for pair in snapshot.by_target.get(request.target_lang, ())}
        for index, text in enumerate(request.texts):
            scored_text = scored[index] if scored else await self._detection.score(text, request.format)
            scores, has_visible_words = scored_text
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
            language = language_of(detected.lang)
            self._metrics.detected.labels(language if language in served else OTHER).inc()
            if closeness(request.target_lang, detected.lang) is not None:
                groups.results[index] = same_language(text, detected.lang, request.target_lang, detected)
                continue
            groups.detected[index] = detected
            groups.indices[detected.lang].append(index)
        return groups


def possible_languages(snapshot: Snapshot, target: str) -> frozenset[str]:
    """Return the languages that texts for a target may have.

    The target's is one of them, because a text in it needs no translation; without its region if no model has that,
    because callers choose among thousands of those.
    """
    sources = snapshot.source_languages
    if target in snapshot.by_target:
        return sources | {target}
    kin = language_and_script(target)
    if any(language_and_script(tag) == kin for tag in sources):
        return sources
    language = language_of(target)
    return sources | {language if language_and_script(language) == kin else f"{language}-{kin[1]}"}
