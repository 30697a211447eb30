"""Detection: the languages of texts, without blocking other requests."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final, NamedTuple

from proxy.fleet.snapshot import Snapshot
from proxy.routing.language_detector import Detection, LanguageDetector, LanguageScores
from proxy.routing.visible_text import INLINE_CHARS, visible_text
from proxy.upstream.response_classifier import RETRY_AFTER_SECONDS
from shared.protocol.errors import PairUnavailableError
from shared.protocol.translate_request import TextFormat
from shared.runtime.turns import LoopTurns

# At most, for a text that is scored on the event loop: beside its characters, and for each.
TEXT_SECONDS: Final = 0.0002
CHAR_SECONDS: Final = 5e-7


class ScoredText(NamedTuple):
    """Scores of a text; None without words.

    Words may also be only in code: then ``has_visible_words`` is False.
    """

    scores: LanguageScores | None
    has_visible_words: bool


class DetectionService:
    """Detector of texts of any length; stateless."""

    def __init__(self, detector: LanguageDetector, turns: LoopTurns) -> None:
        self._detector = detector
        self._turns = turns

    async def score(self, text: str, text_format: TextFormat) -> ScoredText:
        """Score a text; the work that does not depend on the target."""
        if len(text) > INLINE_CHARS:
            visible = await asyncio.to_thread(visible_text, text, text_format)
        else:
            await self._turns.take(TEXT_SECONDS + len(text) * CHAR_SECONDS)
            visible = visible_text(text, text_format)
        scores = None if visible is None else self._detector.score(visible or text)
        return ScoredText(scores, has_visible_words=bool(visible))

    async def detect(
        self, texts: Sequence[str], snapshot: Snapshot, text_format: TextFormat = TextFormat.TEXT
    ) -> list[Detection]:
        """Return each text's language among those the fleet translates from.

        Raises:
            PairUnavailableError: no replica has reported yet.
        """
        served = snapshot.source_languages
        if not served:
            raise PairUnavailableError("Detection", "no API server has reported yet", retry_after=RETRY_AFTER_SECONDS)
        detections: list[Detection] = []
        for text in texts:
            scores = (await self.score(text, text_format)).scores
            detections.append(
                Detection(detected=None, candidates=[])
                if scores is None
                else self._detector.list_candidates(scores, served)
            )
        return detections
