"""Pairs that nobody trained, through a third language, on a real proxy with real sockets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.proxy.integration.inputs import ENGLISH, GERMAN
from tests.proxy.proxies import RunningProxy, proxy
from tests.support.event_streams import request_stream
from tests.support.fake_replica import FakeReplica, Script, replicas
from tests.support.waiting import wait_until

Legs = tuple[FakeReplica, FakeReplica]


@pytest.fixture(scope="module")
async def legs() -> AsyncGenerator[Legs]:
    first, second = FakeReplica("de>en", name="first"), FakeReplica("en>fr", name="second")
    async with replicas(first, second):
        yield first, second


@pytest.fixture(scope="module")
async def running(legs: Legs) -> AsyncGenerator[RunningProxy]:
    async with proxy(legs, max_texts=5) as one:
        yield one


@pytest.fixture(autouse=True)
def fresh(legs: Legs) -> None:
    for fake in legs:
        fake.requests.clear()
        fake.translate = Script()


async def ask(
    running: RunningProxy, text: object = "Guten Tag", **more: Any
) -> tuple[int, dict[str, Any], dict[str, str]]:
    body = {"text": text, "source_lang": "de", "target_lang": "fr", **more}
    response = await running.client.post("/translate", json=body)
    return response.status_code, response.json(), dict(response.headers)


async def test_answer_names_route_and_both_models(running: RunningProxy) -> None:
    status, answer, _ = await ask(running)
    assert status == 200
    assert answer == {
        "translation": "[en>fr by second] [de>en by first] Guten Tag",
        "source_lang": "de",
        "target_lang": "fr",
        "model": "model-first+model-second",
        "route": ["de", "en", "fr"],
        "warnings": [],
    }


async def test_pivoted_list_keeps_its_order(running: RunningProxy) -> None:
    _, answer, _ = await ask(running, ["Eins", "Zwei", "Drei"])
    assert [each["translation"].split()[-1] for each in answer["results"]] == ["Eins", "Zwei", "Drei"]
    assert all(each["route"] == ["de", "en", "fr"] for each in answer["results"])


async def test_text_without_first_leg_is_null_with_warning(running: RunningProxy, legs: Legs) -> None:
    notice = {"code": "output-empty", "message": "Nothing came."}
    one = {
        "translation": "One",
        "source_lang": "de",
        "target_lang": "en",
        "model": "m",
        "route": ["de", "en"],
        "warnings": [],
    }
    none = {**one, "translation": None, "warnings": [notice]}
    legs[0].translate.raw = 200, json.dumps({"results": [none, one]}).encode()
    _, answer, _ = await ask(running, ["Eins", "Zwei"])
    assert [each["translation"] for each in answer["results"]] == [None, "[en>fr by second] One"]
    assert answer["results"][0]["warnings"] == [notice]
    assert [received.body["text"] for received in legs[1].requests] == [["One"]]


async def test_options_are_sent_on_both_legs(running: RunningProxy, legs: Legs) -> None:
    await ask(running, "Die Rechnung", terms={"Rechnung": "facture"}, do_not_translate=["Pairway"], format="markdown")
    first, second = (fake.requests[0].body for fake in legs)
    assert first["terms"] == {"Rechnung": "Rechnung"}
    assert second["terms"] == {"Rechnung": "facture"}
    assert all(body["do_not_translate"] == ["Pairway"] and body["format"] == "markdown" for body in (first, second))
    assert all("pivot" not in body for body in (first, second))


async def test_pivots_confidence_is_the_product_of_both_legs(running: RunningProxy) -> None:
    _, answer, _ = await ask(running, ["Eins", "12"], confidence=True)
    assert [each["confidence"] for each in answer["results"]] == [0.64, 0.64]
    _, answer, _ = await ask(running, alternatives=1, confidence=True)
    assert (answer["confidence"], answer["alternatives_confidence"]) == (0.64, [0.32])
    _, answer, _ = await ask(running)
    assert "confidence" not in answer


async def test_pivot_is_withheld_below_the_least_confidence(running: RunningProxy, legs: Legs) -> None:
    status, answer, _ = await ask(running, ["Eins", "Zwei"], min_confidence=0.7)
    assert status == 200
    assert [each["translation"] for each in answer["results"]] == [None, None]
    assert [each["warnings"][0]["code"] for each in answer["results"]] == ["low-confidence"] * 2
    assert all(received.body["min_confidence"] == 0.7 for fake in legs for received in fake.requests)
    status, problem, _ = await ask(running, min_confidence=0.7)
    assert (status, problem["code"]) == (502, "unusable-output")
    assert problem["warnings"][0]["code"] == "low-confidence"
    status, answer, _ = await ask(running, min_confidence=0.64)
    assert (status, answer["confidence"]) == (200, 0.64)


async def test_second_leg_gets_the_remaining_time(running: RunningProxy, legs: Legs) -> None:
    legs[0].translate.delay = 0.3
    response = await running.client.post(
        "/translate",
        json={"text": "Hallo", "source_lang": "de", "target_lang": "fr"},
        headers={"X-Timeout-Ms": "20000"},
    )
    assert response.status_code == 200
    assert legs[1].timeouts_ms()[0] <= 19_700


async def test_request_can_refuse_pivots(running: RunningProxy, legs: Legs) -> None:
    status, problem, _ = await ask(running, pivot=False)
    assert (status, problem["code"]) == (404, "unknown-pair")
    assert problem["pairs"] == ["de-en", "en-fr"]
    assert not legs[0].requests


async def test_invalid_pivot_field_is_named(running: RunningProxy) -> None:
    status, problem, _ = await ask(running, pivot="no")
    assert (status, problem["code"], problem["errors"][0]["field"]) == (422, "invalid-request", "pivot")


async def test_setting_can_refuse_pivots(legs: Legs) -> None:
    async with proxy(legs, pivot=False) as running:
        assert (await ask(running))[0] == 404
        found = (await running.client.get("/languages")).json()["languages"]
        assert [target["lang"] for each in found for target in each["targets"]] == ["en", "fr"]


async def test_detected_texts_take_their_own_routes(running: RunningProxy) -> None:
    body = {"text": [GERMAN, ENGLISH], "target_lang": "fr"}
    answer = (await running.client.post("/translate", json=body)).json()
    assert [each["route"] for each in answer["results"]] == [["de", "en", "fr"], ["en", "fr"]]
    assert [each["detected"]["lang"] for each in answer["results"]] == ["de", "en"]


async def test_stream_has_deltas_of_the_last_leg(running: RunningProxy) -> None:
    heard = await request_stream(running.client, {"text": ["Eins", "Zwei"], "source_lang": "de", "target_lang": "fr"})
    assert heard.status == 200
    assert [each["route"] for each in heard.result["results"]] == [["de", "en", "fr"]] * 2
    said = [
        "".join(data["text"] for name, data in heard.events if name == "delta" and data["index"] == n) for n in (0, 1)
    ]
    assert said == [each["translation"] for each in heard.result["results"]]


async def test_failing_leg_is_reported(running: RunningProxy, legs: Legs) -> None:
    legs[1].translate.problem = (500, "internal")
    status, problem, _ = await ask(running)
    assert (status, problem["code"]) == (502, "replica-failed")
    legs[1].translate.problem = (502, "unusable-output")
    status, problem, _ = await ask(running)
    assert (status, problem["code"]) == (502, "unusable-output")


async def test_missing_leg_is_503_and_listed_as_not_ready() -> None:
    first, second = FakeReplica("de>en", name="first"), FakeReplica("en>fr", name="second")
    async with replicas(first, second), proxy([first, second]) as running:
        second.pairs["en>fr"] = False

        async def gone() -> bool:
            return (await ask(running))[0] == 503

        await wait_until(gone, 3, "the leg is out")
        _, problem, headers = await ask(running)
        assert problem["code"] == "pair-unavailable"
        assert int(headers["retry-after"]) >= 1
        found = (await running.client.get("/languages")).json()["languages"]
        targets = {(each["lang"], target["lang"]): target for each in found for target in each["targets"]}
        assert targets["de", "fr"] == {"lang": "fr", "ready": False, "how": "pivot", "pivot": "en"}


async def test_client_leaving_on_first_leg_starts_no_second(running: RunningProxy, legs: Legs) -> None:
    legs[0].translate.fault = "hang"
    request = asyncio.create_task(ask(running))
    aborts = legs[0].aborts
    await wait_until(lambda: legs[0].requests, 3, "it is there")
    request.cancel()
    await asyncio.gather(request, return_exceptions=True)
    await wait_until(lambda: legs[0].aborts > aborts, 3, "the work was aborted")
    assert not legs[1].requests


async def counted_requests(running: RunningProxy) -> set[tuple[str, str, str]]:
    """Return pair, route and outcome of the requests counted so far."""
    text = (await running.client.get("/metrics")).text
    return {
        (sample.labels["pair"], sample.labels["route"], sample.labels["outcome"])
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == "pairway_proxy_requests_total" and sample.value
    }


async def test_requests_are_counted_as_asked_and_as_routed(legs: Legs) -> None:
    async with proxy(legs) as fresh_proxy:
        assert (await ask(fresh_proxy, source_lang="de-AT"))[0] == 200
        assert (await ask(fresh_proxy, GERMAN, source_lang="auto"))[0] == 200
        assert (await ask(fresh_proxy, [GERMAN, ENGLISH], source_lang="auto"))[0] == 200
        assert (await ask(fresh_proxy, source_lang="ja"))[0] == 404
        assert (await ask(fresh_proxy, pivot=False))[0] == 404
        assert await counted_requests(fresh_proxy) == {
            ("de-fr", "de-en+en-fr", "ok"),
            ("mixed", "mixed", "ok"),
            ("other", "none", "unknown-pair"),
        }
        lines = (await fresh_proxy.client.get("/metrics")).text.splitlines()
        characters = len("Guten Tag") + 2 * len(GERMAN)
        assert f'pairway_proxy_characters_total{{pair="de-fr"}} {characters}.0' in lines
        assert f'pairway_proxy_characters_total{{pair="en-fr"}} {len(ENGLISH)}.0' in lines


async def test_unavailable_requests_are_counted_by_their_pair() -> None:
    first, second = FakeReplica("de>en", name="first"), FakeReplica("en>fr", name="second")
    second.pairs["en>fr"] = False
    async with replicas(first, second), proxy([first, second]) as running:
        assert (await ask(running))[0] == 503
        assert (await ask(running, ENGLISH, source_lang="en"))[0] == 503
        assert (await ask(running, ENGLISH, source_lang="auto"))[0] == 503
        assert await counted_requests(running) == {
            ("de-fr", "none", "pair-unavailable"),
            ("en-fr", "en-fr", "pair-unavailable"),
        }


async def test_only_the_last_leg_has_alternatives(running: RunningProxy, legs: Legs) -> None:
    status, answer, _ = await ask(running, ["Eins", "Zwei"], alternatives=2)
    assert status == 200
    assert [len(each["alternatives"]) for each in answer["results"]] == [2, 2]
    assert ["alternatives" in fake.requests[0].body for fake in legs] == [False, True]


async def test_only_the_first_leg_has_the_context(running: RunningProxy, legs: Legs) -> None:
    await ask(running, context="In der Bank.")
    assert [fake.requests[0].body.get("context") for fake in legs] == ["In der Bank.", None]


async def test_admission_counts_alternatives_of_the_last_leg(running: RunningProxy, legs: Legs) -> None:
    for fake in legs:
        fake.translate.released = asyncio.Event()
    asking = asyncio.create_task(ask(running, "Guten Tag", alternatives=3))
    await wait_until(lambda: legs[0].requests, 5, "the first leg")
    shares = running.context.translation.service._dispatcher._admission._shares  # pyright: ignore[reportPrivateUsage]
    assert {model: sum(share.units.values()) for model, share in shares.items() if share.units} == {
        "model-first": 1.0,
        "model-second": 4.0,
    }
    for fake in legs:
        assert fake.translate.released is not None
        fake.translate.released.set()
    assert (await asking)[0] == 200
