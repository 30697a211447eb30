"""A list of targets on the real proxy: each answer as of a request of its own, one detection, all or nothing."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest

from proxy.routing.language_detector import LanguageDetector, LanguageScores
from proxy.translation import dispatcher
from proxy.translation.target_list import MAX_TARGETS_AT_ONCE
from shared.literals import needs_translation
from tests.conftest import RedisServer
from tests.proxy.integration.inputs import ENGLISH, FRENCH, GERMAN, RUSSIAN
from tests.proxy.integration.keyed_proxies import guarded_fleet, new_key, stop_clock, usage, used_today
from tests.proxy.integration.test_overload import model_reports
from tests.proxy.proxies import RunningProxy, fleet_fixtures, proxy
from tests.support.fake_replica import FakeReplica, replicas
from tests.support.waiting import wait_until

MIB = 1024 * 1024
EVENTS = {"Accept": "text/event-stream"}
TEN = ["de", "fr", "es", "it", "pt", "nl", "pl", "cs", "da", "sv"]
TEXTS: list[object] = [ENGLISH, [ENGLISH, "42", ENGLISH], "42", [ENGLISH, FRENCH, GERMAN, ""]]


fake, running, fresh = fleet_fixtures(
    "en>de", "en>fr", "fr>de", "fr>en", "de>en", *(f"en>{lang}" for lang in TEN[2:]), name="one"
)


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the texts that are searched for words."""
    texts: list[str] = []

    def counting(text: str) -> bool:
        texts.append(text)
        return needs_translation(text)

    monkeypatch.setattr(dispatcher, "needs_translation", counting)
    return texts


@pytest.fixture
def scored(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the texts that the detector scores."""
    texts: list[str] = []
    score = LanguageDetector.score

    def counting(self: LanguageDetector, text: str) -> LanguageScores:
        texts.append(text)
        return score(self, text)

    monkeypatch.setattr(LanguageDetector, "score", counting)
    return texts


async def ask(
    running: RunningProxy, text: object, targets: object, source: str = "en", key: str = "", **more: object
) -> httpx.Response:
    body = {"text": text, "source_lang": source, "target_lang": targets, **more}
    return await running.client.post("/translate", json=body, headers={"Authorization": f"Bearer {key}"} if key else {})


async def refusal(running: RunningProxy, text: object, targets: object, source: str = "en") -> Any:
    response = await ask(running, text, targets, source)
    assert response.status_code >= 400
    assert response.headers["content-type"] == "application/problem+json"
    return response.json()


@pytest.mark.parametrize(
    ("targets", "field"),
    [
        ([], "target_lang"),
        (["de", "german!"], "target_lang[1]"),
        (["auto", "de"], "target_lang[0]"),
        (["de", "DE"], "target_lang[1]"),
        (["de-AT", "fr", "de_at"], "target_lang[2]"),
    ],
)
async def test_wrong_list_is_refused(running: RunningProxy, fake: FakeReplica, targets: object, field: str) -> None:
    problem = await refusal(running, "Hello", targets)
    assert (problem["status"], problem["code"]) == (422, "invalid-request")
    assert [each["field"] for each in problem["errors"]] == [field]
    assert not fake.requests


async def test_stream_of_a_list_is_refused(running: RunningProxy, fake: FakeReplica) -> None:
    body = {"text": ENGLISH, "source_lang": "en", "target_lang": ["de"]}
    response = await running.client.post("/translate", json=body, headers=EVENTS)
    assert (response.status_code, response.json()["errors"][0]["field"]) == (422, "target_lang")
    assert not fake.requests


@pytest.mark.parametrize(
    ("text", "source", "targets", "status", "code", "named"),
    [
        ("Hello", "en", ["de", "ja", "fr"], 404, "unknown-pair", "ja"),
        (RUSSIAN, "auto", ["de", "fr"], 422, "language-undetected", "de"),
        (FRENCH, "auto", ["de", "tlh"], 404, "unknown-pair", "tlh"),
    ],
)
async def test_refused_target_is_named_and_nothing_is_sent(
    running: RunningProxy,
    fake: FakeReplica,
    text: str,
    source: str,
    targets: list[str],
    status: int,
    code: str,
    named: str,
) -> None:
    problem = await refusal(running, text, targets, source)
    assert (problem["status"], problem["code"]) == (status, code)
    assert problem["detail"].startswith(f"Target {named}: ")
    assert not fake.requests


async def test_failed_target_ends_the_others(fake: FakeReplica) -> None:
    italian = FakeReplica("fr>it", name="italian")
    italian.translate.problem = (422, "invalid-request")
    fake.translate.fault = "hang"
    async with replicas(italian), proxy([italian, fake]) as running:
        problem = await refusal(running, "Bonjour", ["de", "it"], "fr")
    assert (problem["code"], problem["detail"].partition(":")[0]) == ("invalid-request", "Target it")
    await wait_until(lambda: fake.aborts == 1, 5, "the other target is cancelled")


async def test_no_pair_is_unknown_before_the_first_report() -> None:
    async with proxy(["http://127.0.0.1:1"]) as lonely:
        for source in ("en", "auto"):
            problem = await refusal(lonely, "Hello", ["de", "fr"], source)
            assert (problem["status"], problem["code"]) == (503, "pair-unavailable")


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("source", ["en", "auto"])
async def test_answers_are_those_of_single_requests(running: RunningProxy, text: object, source: str) -> None:
    targets = ["de", "en-GB", "fr", "es"]
    answer = await ask(running, text, targets, source)
    alone = [(await ask(running, text, target, source)).json() for target in targets]
    assert answer.status_code == 200
    assert answer.json() == {"targets": alone}


async def test_list_of_one_target_is_a_list(running: RunningProxy) -> None:
    alone = (await ask(running, ENGLISH, "de")).json()
    assert (await ask(running, ENGLISH, ["DE"])).json() == {"targets": [alone]}


async def test_options_are_those_of_every_target(running: RunningProxy, fake: FakeReplica) -> None:
    options: dict[str, Any] = {"format": "html", "terms": {"walk": "w"}}
    assert (await ask(running, [ENGLISH], ["de", "fr"], **options)).status_code == 200
    assert sorted(sent.body["target_lang"] for sent in fake.requests) == ["de", "fr"]
    assert all({name: sent.body[name] for name in options} == options for sent in fake.requests)


async def test_texts_are_detected_once(running: RunningProxy, scored: list[str]) -> None:
    texts = [ENGLISH, FRENCH, "42"]
    answer = await ask(running, texts, ["de", "en-GB", "es"], "auto")
    assert answer.status_code == 200
    assert scored == [ENGLISH, FRENCH]
    found = [[each.get("detected", {}).get("lang") for each in one["results"]] for one in answer.json()["targets"]]
    assert found == [["en", "fr", None]] * 3
    warnings = [one["results"][0]["warnings"] for one in answer.json()["targets"]]
    assert [bool(each) and each[0]["code"] for each in warnings] == [False, "same-language", False]


async def test_few_targets_run_at_once(running: RunningProxy, fake: FakeReplica) -> None:
    fake.translate.released = asyncio.Event()
    asked = asyncio.create_task(ask(running, "Hello", TEN))
    await wait_until(lambda: len(fake.requests) == MAX_TARGETS_AT_ONCE, 5, "the first targets")
    await running.sweeps(1)
    assert len(fake.requests) == MAX_TARGETS_AT_ONCE
    fake.translate.released.set()
    answer = (await asked).json()
    assert [one["target_lang"] for one in answer["targets"]] == TEN
    assert len(fake.requests) == len(TEN)


async def test_client_leaving_cancels_all_targets(running: RunningProxy, fake: FakeReplica) -> None:
    fake.translate.fault = "hang"
    sent = json.dumps({"text": "Hello", "source_lang": "en", "target_lang": ["de", "fr"]}).encode()
    _, writer = await asyncio.open_connection("127.0.0.1", running.serving.port)
    writer.write(
        b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
        % (len(sent), sent)
    )
    await wait_until(lambda: len(fake.requests) == 2, 5, "the replica has both")
    writer.close()
    await wait_until(lambda: fake.aborts == 2, 5, "the replica saw the end of both")


async def test_deadline_is_that_of_the_whole(running: RunningProxy, fake: FakeReplica) -> None:
    fake.translate.fault = "hang"
    body = {"text": "Hello", "source_lang": "en", "target_lang": TEN}
    response = await running.client.post("/translate", json=body, headers={"X-Timeout-Ms": "300"})
    assert (response.status_code, response.json()["code"]) == (504, "deadline-exceeded")


async def test_full_target_refuses_the_whole(fake: FakeReplica) -> None:
    french = FakeReplica("de>fr", name="fake")
    french.models = model_reports(interactive=10, bulk=10)
    async with replicas(french), proxy([fake, french]) as running:
        for source, text in (("de", GERMAN), ("auto", GERMAN)):
            problem = await refusal(running, text, ["en", "fr"], source)
            assert (problem["status"], problem["code"]) == (503, "overloaded")
        assert fake.requests == french.requests == []


async def test_list_larger_than_the_limit_does_not_refuse_itself() -> None:
    # 10 targets of 20 texts are 200 units, of which an idle replica holds 36 at once: a list is admitted as a whole.
    fake = FakeReplica(*(f"en>{lang}" for lang in TEN), name="fake")
    fake.models = model_reports(interactive=0, bulk=0)
    for capacity in fake.models["model-fake"]["room"].values():
        capacity["limit"] = 36
    async with replicas(fake), proxy([fake]) as running:
        texts = [f"Text {number}" for number in range(20)]
        answer = await ask(running, texts, TEN)
        assert answer.status_code == 200, answer.text
        assert [len(one["results"]) for one in answer.json()["targets"]] == [len(texts)] * len(TEN)


async def test_target_refused_beside_others_is_tried_alone() -> None:
    fake = FakeReplica(*(f"en>{lang}" for lang in TEN))
    fake.text_capacity = 1
    fake.translate.delay = 0.05  # so that targets meet at the replica
    async with replicas(fake), proxy([fake]) as running:
        answer = await ask(running, "Hello", TEN)
    assert answer.status_code == 200, answer.text
    assert [one["target_lang"] for one in answer.json()["targets"]] == TEN


async def test_target_refused_twice_refuses_the_whole(running: RunningProxy, fake: FakeReplica) -> None:
    fake.translate.problem = (503, "overloaded")
    problem = await refusal(running, "Hello", ["de", "fr"])
    assert (problem["status"], problem["code"]) == (503, "overloaded")
    assert problem["detail"].startswith("Target de: ")


async def test_cached_targets_need_no_capacity(fake: FakeReplica) -> None:
    french = FakeReplica("de>fr", name="fake")
    async with replicas(french), proxy([fake, french], cache_bytes=MIB) as running:
        assert (await ask(running, [GERMAN], ["fr"], "de")).headers["x-cache"] == "miss"
        full = model_reports(interactive=10, bulk=10)
        french.models = {"model-fake": {**full["model-fake"], "revision": french.revision}}
        await running.sweeps()
        answer = await ask(running, [GERMAN], ["en", "fr"], "de")
        assert (answer.status_code, answer.headers["x-cache"]) == (200, "partial")
        assert len(french.requests) == len(fake.requests) == 1
        assert (await ask(running, [GERMAN, "Haus"], ["en", "fr"], "de")).status_code == 503


async def test_targets_are_cached_each(fake: FakeReplica) -> None:
    async with proxy([fake], cache_bytes=MIB) as running:
        assert (await ask(running, ENGLISH, "de")).headers["x-cache"] == "miss"
        assert (await ask(running, ENGLISH, ["de", "fr"])).headers["x-cache"] == "partial"
        again = await ask(running, ENGLISH, ["fr", "de"])
        assert (again.headers["x-cache"], len(fake.requests)) == ("hit", 2)
        assert [one["target_lang"] for one in again.json()["targets"]] == ["fr", "de"]
        assert (await ask(running, ENGLISH, "fr")).headers["x-cache"] == "hit"


async def test_targets_in_flight_are_shared(running: RunningProxy, fake: FakeReplica) -> None:
    fake.translate.released = asyncio.Event()
    asked = [asyncio.create_task(ask(running, ENGLISH, targets)) for targets in (["de", "fr"], ["fr", "de"], "de")]
    in_flight = running.context.process.metrics
    await wait_until(lambda: in_flight.in_flight == 3 and len(fake.requests) >= 2, 5, "all are in progress")
    await running.sweeps(1)
    fake.translate.released.set()
    answers = [response.json() for response in await asyncio.gather(*asked)]
    assert answers[0]["targets"] == answers[1]["targets"][::-1]
    assert answers[2] == answers[0]["targets"][0]
    assert len(fake.requests) == 2


async def test_joined_problem_names_only_the_joiners_target(running: RunningProxy, fake: FakeReplica) -> None:
    fake.translate.released = asyncio.Event()
    fake.translate.problem = (422, "invalid-request")
    first = asyncio.create_task(ask(running, ENGLISH, ["de"]))
    await wait_until(lambda: fake.requests, 5, "the replica has it")
    second = asyncio.create_task(ask(running, ENGLISH, "de"))
    await wait_until(lambda: running.context.process.metrics.in_flight == 2, 5, "both are in progress")
    await running.sweeps(1)
    fake.translate.released.set()
    problems = [response.json() for response in await asyncio.gather(first, second)]
    assert problems[0]["detail"] == f"Target de: {problems[1]['detail']}"
    assert len(fake.requests) == 1


async def test_every_target_is_charged_once(redis: RedisServer) -> None:
    async with guarded_fleet(redis.url, "en>de", "en>fr") as (running, fake):
        stop_clock(running)
        shown, _ = await new_key(running, chars_per_day=100)
        assert (await ask(running, "x" * 20, ["de", "fr"], key=shown)).status_code == 200
        assert await used_today(running, shown) == 40
        assert (await usage(running, shown))["requests_per_minute"]["used"] == 1
        assert (await ask(running, "x" * 31, ["de", "fr"], key=shown)).status_code == 429
        assert (await ask(running, "x" * 20, ["de", "ja"], key=shown)).status_code == 404
        fake.translate.problem = (422, "invalid-request")
        assert (await ask(running, "y" * 20, ["de", "fr"], key=shown)).status_code == 422
        assert await used_today(running, shown) == 40


@pytest.mark.parametrize(("text", "source"), [("Hello", "en"), (ENGLISH, "auto")])
async def test_pair_that_the_key_lacks_refuses_the_whole(redis: RedisServer, text: str, source: str) -> None:
    async with guarded_fleet(redis.url, "en>de", "en>fr") as (running, fake):
        shown, _ = await new_key(running, pairs=["en-de"])
        response = await ask(running, text, ["de", "fr"], source, key=shown)
        assert (response.status_code, response.json()["code"]) == (403, "pair-refused")
        assert response.json()["detail"].startswith("Target fr: ")
        assert not fake.requests
        assert (await ask(running, text, ["de"], source, key=shown)).status_code == 200


async def test_list_is_one_request_of_mixed_pairs(fake: FakeReplica) -> None:
    async with proxy([fake]) as running:
        await ask(running, "Hello", ["de", "fr"])
        await refusal(running, "Hello", ["de", "ja"])
        await ask(running, "Hello", ["de"])
        metrics = (await running.client.get("/metrics")).text
        for pair, outcome, route in (
            ("mixed", "ok", "mixed"),
            ("other", "unknown-pair", "none"),
            ("en-de", "ok", "en-de"),
        ):
            assert f'outcome="{outcome}",pair="{pair}",route="{route}"}} 1.0' in metrics
        assert 'pairway_proxy_texts_total{pair="en-fr"} 1.0' in metrics


async def test_texts_are_searched_for_words_once(running: RunningProxy, searched: list[str]) -> None:
    for text in (ENGLISH, "42"):
        body = {"text": text, "source_lang": "en", "target_lang": TEN}
        assert (await running.client.post("/translate", json=body)).status_code == 200
    assert searched == [ENGLISH, "42"]
