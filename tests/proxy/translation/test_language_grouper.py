"""Grouping: texts that were scored before, targets that nobody serves, and the metric's label."""

from __future__ import annotations

import pytest

from proxy.metrics import ProxyMetrics
from proxy.routing.language_detector import LanguageDetector
from proxy.translation.detection import DetectionService
from proxy.translation.language_grouper import LanguageGrouper, possible_languages
from shared.protocol.errors import LanguageUndetectedError
from shared.protocol.translate_request import TranslateRequest
from shared.runtime.turns import LoopTurns
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
    return LanguageGrouper(detector, DetectionService(detector, LoopTurns()), ProxyMetrics())


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


def test_regions_of_a_target_are_one_language() -> None:
    sources = {"en", "fr"}
    assert possible_languages(FLEET, "de") == sources | {"de"}
    assert possible_languages(FLEET, "en-GB") == sources
    assert {possible_languages(FLEET, f"sv-{number}") for number in range(100, 1000)} == {frozenset(sources | {"sv"})}
    assert possible_languages(FLEET, "zh-TW") == sources | {"zh-Hant"}
    assert possible_languages(FLEET, "cmn-CN") == sources | {"cmn"}


async def test_metric_has_only_languages_that_are_served() -> None:
    detector, metrics = LanguageDetector(), ProxyMetrics()
    grouper = LanguageGrouper(detector, DetectionService(detector, LoopTurns()), metrics)
    swedish = "Utskottet sammanträder i morgon för att diskutera den nya budgeten."
    for target in ("sv-QX", "sv-AB", "sv-123", "sv"):
        groups = await grouper.group(TranslateRequest(text=swedish, target_lang=target), FLEET)
        assert groups.results[0].warnings[0].code == "same-language"
    await grouper.group(TranslateRequest(text=TEXTS[0], target_lang="en-QX"), FLEET)
    await grouper.group(TranslateRequest(text="今日はいい天気です。", target_lang="ja"), FLEET)
    assert {values: count.value for values, count in metrics.detected.items()} == {
        ("other",): 4,
        ("en",): 1,
        ("ja",): 1,
    }


async def test_new_targets_cost_no_new_comparisons() -> None:
    detector = LanguageDetector()
    grouper = LanguageGrouper(detector, DetectionService(detector, LoopTurns()), ProxyMetrics())
    scored = await grouper.score(TranslateRequest(text=TEXTS[0], target_lang="de"))
    for number in range(100, 200):
        request = TranslateRequest(text=TEXTS[0], target_lang=f"en-{number}")
        assert (await grouper.group(request, FLEET, scored)).results[0].source_lang == "en"
    assert detector.served_sets == 1
