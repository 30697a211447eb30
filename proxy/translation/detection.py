"""Detection: the languages of texts, and requests' texts by language."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from proxy.fleet.snapshot import Snapshot
from proxy.metrics import ProxyMetrics
from proxy.routing.language_detector import Detection, LanguageDetector, LanguageScores
from proxy.routing.visible_text import VISIBLE_INLINE_CHARS, visible_text
from proxy.upstream.response_classifier import REPLICA_RETRY_SECONDS
from shared.languages import LanguagePair, closeness, language_and_script, language_of
from shared.parsing.long_bodies import LongBodies
from shared.protocol.answers import Detected, Translation, same_language, unchanged
from shared.protocol.errors import LanguageUndetectedError, PairUnavailableError
from shared.protocol.translate_request import TextFormat, TranslateRequest
from shared.runtime.metrics import OTHER
from shared.runtime.turns import LoopTurns

# At most, for a text that is scored on the event loop: beside its characters, and for each.
TEXT_SECONDS: Final = 0.0003
CHAR_SECONDS: Final = 5e-7
# For each text of a list, at most: its language is chosen again, among those for a further target; its result is written.
CHOICE_SECONDS: Final = 8e-5
RESULT_SECONDS: Final = 1.2e-5


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


@dataclass(slots=True)
class ScoredText:
    """Scores of a text; None without words.

    Words may also be only in code: then ``has_visible_words`` is False. ``choice``: the languages asked for last, and
    the text's among them; targets of a list often have the same.
    """

    scores: LanguageScores | None
    has_visible_words: bool
    choice: tuple[frozenset[str], Detected] | None = None


class DetectionService:
    """Detector of texts of any length; stateless."""

    def __init__(self, detector: LanguageDetector, turns: LoopTurns, long_bodies: LongBodies) -> None:
        self._detector = detector
        self._turns = turns
        self._long_bodies = long_bodies

    async def score(self, caller: str, text: str, text_format: TextFormat) -> ScoredText:
        """Score a text; the work that does not depend on the target."""
        if len(text) > VISIBLE_INLINE_CHARS:
            visible = await self._long_bodies.read(caller, partial(visible_text, text, text_format))
        else:
            await self._turns.take(TEXT_SECONDS + len(text) * CHAR_SECONDS)
            visible = visible_text(text, text_format)
        scores = None if visible is None else self._detector.score(visible or text)
        return ScoredText(scores, has_visible_words=bool(visible))

    async def detect(
        self, caller: str, texts: Sequence[str], snapshot: Snapshot, text_format: TextFormat = TextFormat.TEXT
    ) -> list[Detection]:
        """Return each text's language among those the fleet translates from.

        Raises:
            PairUnavailableError: no replica has reported yet.
        """
        served = snapshot.source_languages
        if not served:
            raise PairUnavailableError("Detection", "no API server has reported yet", retry_after=REPLICA_RETRY_SECONDS)
        detections: list[Detection] = []
        for text in texts:
            scores = (await self.score(caller, text, text_format)).scores
            detections.append(
                Detection(detected=None, candidates=[])
                if scores is None
                else self._detector.list_candidates(scores, served)
            )
        if len(texts) > 1:  # for what follows: all are answered, or the list's language is chosen
            await self._turns.take(len(texts) * RESULT_SECONDS)
        return detections

    async def take_turn(self, seconds: float) -> None:
        """Wait for a turn with place for this much work."""
        await self._turns.take(seconds)


class LanguageGrouper:
    """Detector of the languages of a request's texts; stateless."""

    def __init__(self, detector: LanguageDetector, detection: DetectionService, metrics: ProxyMetrics) -> None:
        self._detector = detector
        self._detection = detection
        self._metrics = metrics

    async def score(self, caller: str, request: TranslateRequest) -> list[ScoredText]:
        """Score the texts for several groupings, such as one for each target."""
        return [await self._detection.score(caller, text, request.format) for text in request.texts]

    async def group(
        self,
        caller: str,
        request: TranslateRequest,
        snapshot: Snapshot,
        scored: Sequence[ScoredText] | None = None,
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
        direct = frozenset(pair.source for pair in snapshot.by_target.get(request.target_lang, ()))
        if scored:
            await self._detection.take_turn(len(scored) * RESULT_SECONDS)
        for index, text in enumerate(request.texts):
            scored_text = scored[index] if scored else await self._detection.score(caller, text, request.format)
            has_visible_words = scored_text.has_visible_words
            scores = scored_text.scores
            if scores is None:
                groups.results[index] = unchanged(text, None, request.target_lang)
                continue
            where = "text" if isinstance(request.text, str) else f"text[{index}]"
            try:
                among = languages if has_visible_words else direct
                if scored_text.choice is None or scored_text.choice[0] != among:
                    if scored:  # else the turn of its scores has place for it
                        await self._detection.take_turn(CHOICE_SECONDS)
                    scored_text.choice = among, self._detector.choose(scores, among, where)
                detected = scored_text.choice[1]
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
