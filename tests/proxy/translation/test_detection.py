"""Detection of texts of any length, and of markup; requests' texts by language."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection

import pytest

from proxy.metrics import ProxyMetrics
from proxy.routing.language_detector import LanguageDetector, LanguageScores
from proxy.routing.visible_text import VISIBLE_INLINE_CHARS
from proxy.translation.detection import DetectionService, LanguageGrouper, LanguageGroups, possible_languages
from shared.languages import LanguagePair
from shared.parsing.long_bodies import LongBodies
from shared.protocol.answers import Detected, Translation, unchanged
from shared.protocol.errors import LanguageUndetectedError, PairUnavailableError
from shared.protocol.translate_request import TextFormat, TranslateRequest
from shared.runtime.turns import LoopTurns
from tests.proxy.samples import replica, snapshot

ENGLISH = "The committee meets tomorrow morning to discuss the new budget."
CALLER = "alice"
FLEET = snapshot(replica("http://one", "en>de", "fr>de"))


@pytest.fixture(scope="module")
def detection() -> DetectionService:
    return DetectionService(LanguageDetector(), LoopTurns(), LongBodies(LoopTurns()))


async def test_empty_fleet_detects_nothing(detection: DetectionService) -> None:
    with pytest.raises(PairUnavailableError, match="no API server has reported yet") as caught:
        await detection.detect(CALLER, [ENGLISH], snapshot())
    assert caught.value.retry_after


async def test_known_pairs_without_replicas_are_detected(detection: DetectionService) -> None:
    (found,) = await detection.detect(CALLER, [ENGLISH], snapshot(remembered=("en>de",)))
    assert found.detected is not None
    assert found.detected.lang == "en"


async def test_texts_are_detected_in_order(detection: DetectionService) -> None:
    texts = ["", ENGLISH, "\x00", "Le comité se réunit demain matin.", "7" * 100_000]
    found = await detection.detect(CALLER, texts, FLEET)
    assert [each.detected and each.detected.lang for each in found] == [None, "en", None, "fr", None]
    assert await detection.detect(CALLER, [], FLEET) == []


async def test_long_texts_of_callers_are_read_in_turn(detection: DetectionService) -> None:
    order: list[str] = []

    async def detect(caller: str) -> None:
        await detection.detect(caller, ["word " * VISIBLE_INLINE_CHARS], FLEET)
        order.append(caller)

    await asyncio.gather(*(detect("many") for _ in range(10)), detect("one"))
    assert order.index("one") <= 2, "not after all that came first"


async def test_other_requests_run_between_texts(detection: DetectionService) -> None:
    steps: list[str] = []

    async def detect() -> None:
        await detection.detect(CALLER, [ENGLISH, ENGLISH, "word " * VISIBLE_INLINE_CHARS], FLEET)
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
    scored = await detection.score(CALLER, text, text_format)
    assert (scored.scores is not None, scored.has_visible_words) == (has_scores, has_visible_words)


TEXTS = [
    "The committee meets tomorrow morning to discuss the new budget.",
    "Le comité se réunit demain matin pour discuter du nouveau budget.",
    "42",
    "<code>return</code>",
]
GROUPED_FLEET = snapshot(replica("http://one", "en>de", "fr>de", "en>ja"))


@pytest.fixture(scope="module")
def grouper() -> LanguageGrouper:
    detector = LanguageDetector()
    return LanguageGrouper(detector, DetectionService(detector, LoopTurns(), LongBodies(LoopTurns())), ProxyMetrics())


@pytest.mark.parametrize("target", ["de", "fr", "en-GB", "ja"])
async def test_scored_texts_are_grouped_the_same(grouper: LanguageGrouper, target: str) -> None:
    request = TranslateRequest.model_validate({"text": TEXTS, "target_lang": target, "format": "html"})
    scored = await grouper.score(CALLER, request.model_copy(update={"target_lang": "cs"}))
    assert await grouper.group(CALLER, request, GROUPED_FLEET, scored) == await grouper.group(
        CALLER, request, GROUPED_FLEET
    )


async def test_targets_with_one_set_of_languages_share_a_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    detector, chosen = LanguageDetector(), list[str]()
    choose = detector.choose

    def counting(scores: LanguageScores, served: Collection[str], where: str) -> Detected:
        chosen.append(where)
        return choose(scores, served, where)

    monkeypatch.setattr(detector, "choose", counting)
    grouper = LanguageGrouper(
        detector, DetectionService(detector, LoopTurns(), LongBodies(LoopTurns())), ProxyMetrics()
    )
    request = TranslateRequest(text=TEXTS[:2], target_lang="fr")
    scored = await grouper.score(CALLER, request)
    for target in ("fr", "en", "fr"):
        await grouper.group(CALLER, request.model_copy(update={"target_lang": target}), GROUPED_FLEET, scored)
    assert chosen == ["text[0]", "text[1]"]


async def test_target_is_a_language_only_of_its_own_grouping(grouper: LanguageGrouper) -> None:
    japanese = TranslateRequest(text="今日はいい天気です。", target_lang="ja")
    scored = await grouper.score(CALLER, japanese)
    assert (await grouper.group(CALLER, japanese, GROUPED_FLEET, scored)).results[0].warnings[0].code == "same-language"
    with pytest.raises(LanguageUndetectedError):
        await grouper.group(CALLER, japanese.model_copy(update={"target_lang": "de"}), GROUPED_FLEET, scored)


def test_regions_of_a_target_are_one_language() -> None:
    sources = {"en", "fr"}
    assert possible_languages(GROUPED_FLEET, "de") == sources | {"de"}
    assert possible_languages(GROUPED_FLEET, "en-GB") == sources
    assert {possible_languages(GROUPED_FLEET, f"sv-{number}") for number in range(100, 1000)} == {
        frozenset(sources | {"sv"})
    }
    assert possible_languages(GROUPED_FLEET, "zh-TW") == sources | {"zh-Hant"}
    assert possible_languages(GROUPED_FLEET, "cmn-CN") == sources | {"cmn"}


async def test_metric_has_only_languages_that_are_served() -> None:
    detector, metrics = LanguageDetector(), ProxyMetrics()
    grouper = LanguageGrouper(detector, DetectionService(detector, LoopTurns(), LongBodies(LoopTurns())), metrics)
    swedish = "Utskottet sammanträder i morgon för att diskutera den nya budgeten."
    for target in ("sv-QX", "sv-AB", "sv-123", "sv"):
        groups = await grouper.group(CALLER, TranslateRequest(text=swedish, target_lang=target), GROUPED_FLEET)
        assert groups.results[0].warnings[0].code == "same-language"
    await grouper.group(CALLER, TranslateRequest(text=TEXTS[0], target_lang="en-QX"), GROUPED_FLEET)
    await grouper.group(CALLER, TranslateRequest(text="今日はいい天気です。", target_lang="ja"), GROUPED_FLEET)
    assert {values: count.value for values, count in metrics.detected.items()} == {
        ("other",): 4,
        ("en",): 1,
        ("ja",): 1,
    }


async def test_new_targets_cost_no_new_comparisons() -> None:
    detector = LanguageDetector()
    grouper = LanguageGrouper(
        detector, DetectionService(detector, LoopTurns(), LongBodies(LoopTurns())), ProxyMetrics()
    )
    scored = await grouper.score(CALLER, TranslateRequest(text=TEXTS[0], target_lang="de"))
    for number in range(100, 200):
        request = TranslateRequest(text=TEXTS[0], target_lang=f"en-{number}")
        assert (await grouper.group(CALLER, request, GROUPED_FLEET, scored)).results[0].source_lang == "en"
    assert detector.served_sets == 1


def translation(text: str, source: str) -> Translation:
    return Translation(translation=text, source_lang=source, target_lang="de", model="m", route=[source, "de"])


def groups(text: str | list[str], **indices: list[int]) -> LanguageGroups:
    request = TranslateRequest(text=text, source_lang="auto", target_lang="de")
    detected = {index: Detected(lang=lang, confidence=0.9) for lang, each in indices.items() for index in each}
    return LanguageGroups(request, indices, detected)


def test_groups_have_one_pair_and_request_each() -> None:
    each = groups(["one", "deux", "42", "three"], en=[0, 3], fr=[1])
    assert each.pairs == {"en": LanguagePair("en", "de"), "fr": LanguagePair("fr", "de")}
    assert each.request_for("en").text == ["one", "three"]
    assert each.request_for("fr").text == ["deux"]


def test_single_text_stays_single() -> None:
    assert groups("one", en=[0]).request_for("en").text == "one"


def test_answer_has_all_texts_in_order_with_their_languages() -> None:
    each = groups(["one", "deux", "42"], en=[0], fr=[1])
    each.results[2] = unchanged("42", None, "de")
    each.add("fr", [translation("zwei", "fr")])
    each.add("en", [translation("eins", "en")])
    results = json.loads(each.answer())["results"]
    assert [result["translation"] for result in results] == ["eins", "zwei", "42"]
    assert [result.get("detected", {}).get("lang") for result in results] == ["en", "fr", None]
