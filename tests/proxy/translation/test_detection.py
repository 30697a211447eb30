"""Detection of texts of any length, and of markup, in one snapshot of the fleet."""

from __future__ import annotations

import asyncio

import pytest

from proxy.routing.language_detector import LanguageDetector
from proxy.routing.visible_text import INLINE_CHARS
from proxy.translation.detection import DetectionService
from shared.protocol.errors import PairUnavailableError
from shared.protocol.translate_request import TextFormat
from shared.runtime.turns import LoopTurns
from tests.proxy.samples import replica, snapshot

ENGLISH = "The committee meets tomorrow morning to discuss the new budget."
FLEET = snapshot(replica("http://one", "en>de", "fr>de"))


@pytest.fixture(scope="module")
def detection() -> DetectionService:
    return DetectionService(LanguageDetector(), LoopTurns())


async def test_empty_fleet_detects_nothing(detection: DetectionService) -> None:
    with pytest.raises(PairUnavailableError, match="no API server has reported yet") as caught:
        await detection.detect([ENGLISH], snapshot())
    assert caught.value.retry_after


async def test_known_pairs_without_replicas_are_detected(detection: DetectionService) -> None:
    (found,) = await detection.detect([ENGLISH], snapshot(remembered=("en>de",)))
    assert found.detected is not None
    assert found.detected.lang == "en"


async def test_texts_are_detected_in_order(detection: DetectionService) -> None:
    texts = ["", ENGLISH, "\x00", "Le comité se réunit demain matin.", "7" * 100_000]
    found = await detection.detect(texts, FLEET)
    assert [each.detected and each.detected.lang for each in found] == [None, "en", None, "fr", None]
    assert await detection.detect([], FLEET) == []


async def test_other_requests_run_between_texts(detection: DetectionService) -> None:
    steps: list[str] = []

    async def detect() -> None:
        await detection.detect([ENGLISH, ENGLISH, "word " * INLINE_CHARS], FLEET)
        steps.append("detected")

    task = asyncio.create_task(detect())
    for _ in range(3):
        await asyncio.sleep(0)
        steps.append("other")
    await task
    assert steps == ["other"] * 3 + ["detected"]


@pytest.mark.parametrize(
    ("text", "text_format", "has_scores", "has_visible_words"),
    [
        ("<p>Hello world</p>", TextFormat.HTML, True, True),
        ("<p>42</p>", TextFormat.HTML, False, False),
        ("<script>words</script>", TextFormat.HTML, True, False),
        ("42", TextFormat.TEXT, False, False),
    ],
)
async def test_markup_is_scored_by_its_visible_words(
    detection: DetectionService, text: str, text_format: TextFormat, *, has_scores: bool, has_visible_words: bool
) -> None:
    scored = await detection.score(text, text_format)
    assert (scored.scores is not None, scored.has_visible_words) == (has_scores, has_visible_words)
