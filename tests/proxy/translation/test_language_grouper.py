"""Grouping with texts that were scored before: the same as without."""

from __future__ import annotations

import pytest

from proxy.metrics import ProxyMetrics
from proxy.routing.language_detector import LanguageDetector
from proxy.translation.detection import DetectionService
from proxy.translation.language_grouper import LanguageGrouper
from shared.protocol.errors import LanguageUndetectedError
from shared.protocol.translate_request import TranslateRequest
from tests.proxy.samples import replica, snapshot

TEXTS = [
    "The committee meets tomorrow morning to discuss the new budget.",
    "Le comité se réunit demain matin pour discuter du nouveau budget.",
    "42",
    "<code>return</code>",
]
FLEET = snapshot(replica("http://one", "en>de", "fr>de", "en>ja"))


@pytest.fixture(scope="module")
def grouper() -> LanguageGrouper:
    detector = LanguageDetector()
    return LanguageGrouper(detector, DetectionService(detector), ProxyMetrics())


@pytest.mark.parametrize("target", ["de", "fr", "en-GB", "ja"])
async def test_scored_texts_are_grouped_the_same(grouper: LanguageGrouper, target: str) -> None:
    request = TranslateRequest.model_validate({"text": TEXTS, "target_lang": target, "format": "html"})
    scored = await grouper.score(request.model_copy(update={"target_lang": "cs"}))
    assert await grouper.group(request, FLEET, scored) == await grouper.group(request, FLEET)


async def test_target_is_a_language_only_of_its_own_grouping(grouper: LanguageGrouper) -> None:
    japanese = TranslateRequest(text="今日はいい天気です。", target_lang="ja")
    scored = await grouper.score(japanese)
    assert (await grouper.group(japanese, FLEET, scored)).results[0].warnings[0].code == "same-language"
    with pytest.raises(LanguageUndetectedError):
        await grouper.group(japanese.model_copy(update={"target_lang": "de"}), FLEET, scored)
