"""Kiss Translator's custom API: one text, batches, keys and errors."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import pytest

from tests.proxy.integration.inputs import ENGLISH
from tests.proxy.proxies import RunningProxy, proxy
from tests.support.fake_replica import FakeReplica, replicas

ONE = {"text": "Hello", "from": "en", "to": "de"}
BATCH = {"texts": ["Hello", "", "<a1>you</a1> &amp; me"], "from": "en", "to": "de"}
NORWEGIAN = "Været er veldig fint i dag, og vi skal gå en lang tur sammen med bestemor og hunden."


@pytest.fixture(scope="module")
async def fake() -> AsyncGenerator[FakeReplica]:
    one = FakeReplica("en>de", "de>en", "no>de", "en>zh")
    async with replicas(one):
        yield one


@pytest.fixture(scope="module")
async def running(fake: FakeReplica) -> AsyncGenerator[RunningProxy]:
    async with proxy([fake]) as one:
        yield one


@pytest.mark.parametrize("path", ["/kiss", "/kiss/", "//kiss"])
async def test_one_text_and_batch_are_answered(running: RunningProxy, path: str) -> None:
    one = await running.client.post(running.url + path, json=ONE)
    assert (one.status_code, one.json()) == (200, {"text": "[en>de by fake] Hello", "src": "en"})
    batch = await running.client.post(running.url + path, json=BATCH)
    items = [{"text": f"[en>de by fake] {text}", "src": "en"} for text in BATCH["texts"]]
    assert (batch.status_code, batch.json()) == (200, {"translations": items})


@pytest.mark.parametrize(("text", "src"), [(ENGLISH, "en"), (NORWEGIAN, "nb"), ("123", "auto")])
async def test_source_is_named_in_its_codes(running: RunningProxy, text: str, src: str) -> None:
    answer = await running.client.post("/kiss", json={"text": text, "from": "auto", "to": "de"})
    assert answer.json()["src"] == src


@pytest.mark.parametrize("change", [{"texts": None}, {"from": None}, {"from": ""}, {"more": [1]}])
async def test_nulls_and_other_fields_change_nothing(running: RunningProxy, change: dict[str, Any]) -> None:
    answer = await running.client.post("/kiss", json={"text": "123", "from": "auto", "to": "de", **change})
    assert (answer.status_code, answer.json()) == (200, {"text": "123", "src": "auto"})


@pytest.mark.parametrize(
    ("change", "status", "error", "message"),
    [
        ({"text": None}, 422, "invalid-request", "text: is required"),
        ({"text": ["a"]}, 422, "invalid-request", "text: is required"),
        ({"texts": 0}, 422, "invalid-request", "texts: must be a list of strings"),
        ({"texts": "Hello"}, 422, "invalid-request", "texts: must be a list of strings"),
        ({"texts": ["a", None]}, 422, "invalid-request", "texts: must be a list of strings"),
        ({"to": ""}, 422, "invalid-request", "to:"),
        ({"from": "klingon!"}, 422, "invalid-request", "from:"),
        ({"from": 1}, 422, "invalid-request", "from: must be a string"),
        ({"to": "ja"}, 404, "unknown-pair", "en-ja"),
    ],
)
async def test_wrong_fields_have_its_errors(
    running: RunningProxy, change: dict[str, Any], status: int, error: str, message: str
) -> None:
    answer = await running.client.post("/kiss", json={**ONE, **change})
    assert (answer.status_code, answer.json()["error"]) == (status, error)
    assert message in answer.json()["message"]
