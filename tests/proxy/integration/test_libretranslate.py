"""LibreTranslate: where the request's fields are, keys, and errors in its own format."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from tests.proxy.proxies import RunningProxy, proxy
from tests.support.fake_replica import FakeReplica, replicas

ASKED = {"q": "Hello", "source": "en", "target": "de"}


@pytest.fixture(scope="module")
async def running() -> Any:
    fake = FakeReplica("en>de", "de>en")
    async with replicas(fake), proxy([fake]) as one:
        yield one


@pytest.mark.parametrize("path", ["/translate", "/libretranslate/translate"])
async def test_fields_of_json_form_multipart_and_query_are_equal(running: RunningProxy, path: str) -> None:
    async with httpx.AsyncClient(base_url=running.url, trust_env=False) as client:
        answers = [
            await client.post(path, json=ASKED),
            await client.post(path, data=ASKED),
            await client.post(path, files={name: (None, value) for name, value in ASKED.items()}),
            await client.post(path, params=ASKED),
        ]
    assert [answer.status_code for answer in answers] == [200] * 4
    assert len({answer.text for answer in answers}) == 1


async def test_list_keeps_length_and_order(running: RunningProxy) -> None:
    texts = ["Hello", "", "Good morning"]
    answer = await running.client.post("/translate", json={**ASKED, "q": texts})
    assert answer.json()["translatedText"] == [f"[en>de by fake] {text}" for text in texts]


@pytest.mark.parametrize(
    ("change", "status", "error"),
    [
        ({"q": None}, 400, "Invalid request: missing q parameter"),
        ({"q": []}, 400, "Invalid request: missing q parameter"),
        ({"target": "zz!"}, 400, "zz! is not supported"),
    ],
)
async def test_errors_have_its_format(running: RunningProxy, change: dict[str, Any], status: int, error: str) -> None:
    answer = await running.client.post("/libretranslate/translate", json={**ASKED, **change})
    assert (answer.status_code, answer.json()) == (status, {"error": error})


async def test_broken_json_at_the_root_is_native(running: RunningProxy) -> None:
    for body in (b'{"q": "Hello"', b'["q"]', json.dumps({"text": '"q"', "target_lang": 1}).encode()):
        answer = await running.client.post("/translate", content=body, headers={"Content-Type": "application/json"})
        assert answer.headers["content-type"] == "application/problem+json"


async def test_long_form_is_read(running: RunningProxy) -> None:
    texts = ["ä" * 5000, "short"]
    async with httpx.AsyncClient(base_url=running.url, trust_env=False) as client:
        answer = await client.post("/translate", data={**ASKED, "q": texts})
    assert answer.json()["translatedText"] == [f"[en>de by fake] {text}" for text in texts]
