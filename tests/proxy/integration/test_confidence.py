"""Confidence on the real proxy: requested or always, cached, coalesced and of unchanged texts."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx

from tests.proxy.proxies import RunningProxy, fleet_fixtures, proxy
from tests.support.event_streams import request_stream
from tests.support.fake_replica import FakeReplica
from tests.support.waiting import wait_until

HELLO = {"text": "Hello", "source_lang": "en", "target_lang": "de"}


fake, running, fresh = fleet_fixtures("en>de", name="one", cache_bytes=1024 * 1024)


async def post(running: RunningProxy, headers: dict[str, str] | None = None, **more: Any) -> httpx.Response:
    return await running.client.post("/translate", json={**HELLO, **more}, headers=headers)


async def test_cached_answer_keeps_its_confidence(running: RunningProxy, fake: FakeReplica) -> None:
    first = await post(running, text="Cached", confidence=True)
    again = await post(running, text="Cached", confidence=True)
    assert (first.json(), again.headers["x-cache"]) == (again.json(), "hit")
    assert again.json()["confidence"] == 0.8
    plain = await post(running, text="Cached")
    assert plain.headers["x-cache"] == "miss"
    assert "confidence" not in plain.json()
    assert len(fake.requests) == 2


async def test_least_confidence_is_part_of_the_key(running: RunningProxy, fake: FakeReplica) -> None:
    for least in (0.1, 0.2, 0.1):
        assert (await post(running, text="Key", min_confidence=least)).status_code == 200
    assert [received.body["min_confidence"] for received in fake.requests] == [0.1, 0.2]


async def test_other_least_confidences_share_no_computation(running: RunningProxy, fake: FakeReplica) -> None:
    fake.translate.released = asyncio.Event()
    tasks = [asyncio.create_task(post(running, text="Shared", min_confidence=least)) for least in (0.3, 0.3, 0.4)]
    await wait_until(lambda: len(fake.requests) == 2, 5)
    fake.translate.released.set()
    answers = [await task for task in tasks]
    assert [answer.status_code for answer in answers] == [200, 200, 200]
    assert len(fake.requests) == 2


async def test_unchanged_and_detected_texts_have_one(running: RunningProxy) -> None:
    english = "Where is the nearest station, please?"
    german = "Wo ist bitte der nächste Bahnhof in dieser Stadt?"
    answer = (await post(running, text=["123", english, german], source_lang="auto", confidence=True)).json()
    assert [each["confidence"] for each in answer["results"]] == [1.0, 0.8, 1.0]
    assert (await post(running, text="123", min_confidence=1)).json()["confidence"] == 1.0


async def test_each_target_has_its_own(running: RunningProxy) -> None:
    answer = (await post(running, target_lang=["de"], confidence=True)).json()
    assert [each["confidence"] for each in answer["targets"]] == [0.8]


async def test_stream_has_it_in_its_result(running: RunningProxy) -> None:
    stream = await request_stream(running.client, {**HELLO, "confidence": True})
    assert stream.result["confidence"] == 0.8


async def test_stream_cannot_have_a_least_confidence(running: RunningProxy, fake: FakeReplica) -> None:
    answer = await post(running, {"Accept": "text/event-stream"}, min_confidence=0)
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "min_confidence")
    assert fake.requests == []


async def test_setting_adds_it_to_every_answer(fake: FakeReplica) -> None:
    async with proxy([fake], confidence=True) as always:
        assert (await post(always)).json()["confidence"] == 0.8
        assert (await post(always, confidence=False, text="123")).json()["confidence"] == 1.0
        answer = await always.client.post(
            "/libretranslate/translate", json={"q": "Hello", "source": "en", "target": "de"}
        )
        assert "confidence" not in answer.json()
    assert [received.body.get("confidence") for received in fake.requests] == [True, None]


async def test_failures_that_callers_chose_are_clients_errors(running: RunningProxy, fake: FakeReplica) -> None:
    notice = {"code": "low-confidence", "message": "Its confidence is lower than min_confidence, 1."}
    late = {"X-Timeout-Ms": "300"}

    async def counted(code: str) -> dict[str, int]:
        requests = running.context.process.metrics.requests.items()
        return {kind: each.value for (*_, outcome, kind), each in requests if outcome == code and each.value}

    fake.translate.problem = (502, "unusable-output")
    assert (await post(running, text="no output")).status_code == 502
    assert await counted("unusable-output") == {"failed": 1}
    fake.translate.facts = {"warnings": [notice]}
    assert (await post(running, text="too unsure", min_confidence=1)).status_code == 502
    assert await counted("unusable-output") == {"failed": 1, "client": 1}
    fake.translate.problem, fake.translate.fault = None, "hang"
    assert (await post(running, late, text="too late")).status_code == 504
    assert await counted("deadline-exceeded") == {"client": 1}
