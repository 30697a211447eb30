"""Immersive Translate's custom API: lists with placeholders, the key in the URL, errors."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import httpx
import pytest

from tests.conftest import RedisServer
from tests.proxy.integration.inputs import ENGLISH, GERMAN, RUSSIAN
from tests.proxy.integration.keyed_proxies import guarded, new_key
from tests.proxy.proxies import RunningProxy, proxy
from tests.support.fake_replica import FakeReplica, replicas

ASKED = {"source_lang": "en", "target_lang": "de", "text_list": ["Hello", "", "you"]}
CHINESE = "今天天气很好,我们要去公园散步,然后一起吃午饭。"


@pytest.fixture(scope="module")
async def fake() -> AsyncGenerator[FakeReplica]:
    one = FakeReplica("en>de", "de>en", "zh>de", "en>zh", "en>zh-Hant")
    async with replicas(one):
        yield one


@pytest.fixture(scope="module")
async def running(fake: FakeReplica) -> AsyncGenerator[RunningProxy]:
    async with proxy([fake]) as one:
        yield one


@pytest.mark.parametrize("path", ["/imme", "/imme/", "//imme?token="])
async def test_list_keeps_length_and_order(running: RunningProxy, path: str) -> None:
    answer = await running.client.post(running.url + path, json=ASKED)
    texts = [f"[en>de by fake] {text}" for text in ASKED["text_list"]]
    assert answer.status_code == 200
    assert answer.json() == {"translations": [{"detected_source_lang": "en", "text": text} for text in texts]}


async def test_empty_list_is_answered(running: RunningProxy) -> None:
    answer = await running.client.post("/imme", json={**ASKED, "text_list": []})
    assert (answer.status_code, answer.json()) == (200, {"translations": []})


async def test_each_text_is_detected(running: RunningProxy) -> None:
    texts = [ENGLISH, GERMAN, CHINESE, "123"]
    answer = await running.client.post("/imme", json={**ASKED, "source_lang": "auto", "text_list": texts})
    found = answer.json()["translations"]
    assert [each["detected_source_lang"] for each in found] == ["en", "de", "zh-CN", "auto"]
    assert [each["text"] for each in found] == [
        f"[en>de by fake] {ENGLISH}",
        GERMAN,
        f"[zh>de by fake] {CHINESE}",
        "123",
    ]


@pytest.mark.parametrize(
    ("code", "pair"), [("zh-CN", "en>zh"), ("zh-TW", "en>zh-Hant"), ("zh_hans", "en>zh"), ("DE", "en>de")]
)
async def test_codes_are_read_in_any_spelling(running: RunningProxy, code: str, pair: str) -> None:
    asked = {"source_lang": "EN", "target_lang": code, "text_list": ["Hello"]}
    (item,) = (await running.client.post("/imme", json=asked)).json()["translations"]
    assert item == {"detected_source_lang": "EN", "text": f"[{pair} by fake] Hello"}


@pytest.mark.parametrize(
    ("texts", "form"),
    [
        (["Hi {0}", "a & b < c"], "text"),
        (["plain", "<b0></b0> you"], "html"),
        (["<a i=1>you</a>"], "html"),
        (["AT&amp;T"], "html"),
    ],
)
async def test_texts_with_tags_are_html(running: RunningProxy, fake: FakeReplica, texts: list[str], form: str) -> None:
    await running.client.post("/imme", json={**ASKED, "text_list": texts})
    (asked,) = [each.body for each in fake.requests if each.body["text"] in (texts, texts[0])]
    assert asked.get("format", "text") == form
    assert asked.get("split_sentences") == (None if form == "text" else "lines_and_sentences")


async def test_long_lists_are_read_alike(running: RunningProxy, fake: FakeReplica) -> None:
    texts = ["<b0></b0> you " * 70] * 100
    answer = await running.client.post("/imme", json={**ASKED, "text_list": texts})
    assert [each["text"].removeprefix("[en>de by fake] ") for each in answer.json()["translations"]] == texts
    assert fake.requests[-1].body["format"] == "html"


async def test_bare_signs_come_back_bare(fake: FakeReplica, running: RunningProxy) -> None:
    good = {"source_lang": "en", "target_lang": "de", "model": "m", "route": ["en", "de"], "warnings": []}
    written = [{"translation": text, **good} for text in ("c &amp; d &lt; <b0></b0>", "c &amp; d <b0></b0>")]
    fake.translate.raw = (200, httpx.Response(200, json={"results": written}).content)
    try:
        asked = {**ASKED, "text_list": ["a & b < <b0></b0>", "a &amp; b <b0></b0>"]}
        answer = await running.client.post("/imme", json=asked)
    finally:
        fake.translate.raw = None
    assert [each["text"] for each in answer.json()["translations"]] == ["c & d < <b0></b0>", "c &amp; d <b0></b0>"]


@pytest.mark.parametrize(
    ("change", "status", "error", "message"),
    [
        ({"text_list": None}, 422, "invalid-request", "text_list: must be a list of strings"),
        ({"text_list": "Hello"}, 422, "invalid-request", "text_list: must be a list of strings"),
        ({"text_list": ["a", 1]}, 422, "invalid-request", "text_list: must be a list of strings"),
        ({"target_lang": None}, 422, "invalid-request", "target_lang"),
        ({"target_lang": "auto"}, 422, "invalid-request", "target_lang"),
        ({"source_lang": "klingon!"}, 422, "invalid-request", "source_lang"),
        ({"source_lang": ["en"]}, 422, "invalid-request", "source_lang: must be a string"),
        ({"target_lang": 1}, 422, "invalid-request", "target_lang: must be a string"),
        ({"target_lang": "ja"}, 404, "unknown-pair", "en-ja"),
        ({"text_list": [ENGLISH, RUSSIAN], "source_lang": "auto"}, 422, "language-undetected", "text[1]"),
    ],
)
async def test_wrong_fields_have_its_errors(
    running: RunningProxy, change: dict[str, Any], status: int, error: str, message: str
) -> None:
    answer = await running.client.post("/imme", json={**ASKED, **change})
    assert (answer.status_code, answer.json()["error"]) == (status, error)
    assert message in answer.json()["message"]


async def test_failure_is_never_the_source_text(fake: FakeReplica, running: RunningProxy) -> None:
    fake.translate.problem = (502, "unusable-output")
    try:
        answer = await running.client.post("/imme", json=ASKED)
    finally:
        fake.translate.problem = None
    assert (answer.status_code, answer.json()["error"]) == (502, "unusable-output")


async def test_key_is_read_from_the_url_alone(fake: FakeReplica, redis: RedisServer) -> None:
    async with guarded(fake, redis.url) as running:
        shown, _ = await new_key(running)
        operators, _ = await new_key(running, scopes=["translate", "operate"])
        assert (await running.client.post(f"/imme?token={shown}", json=ASKED)).status_code == 200
        for query in ("", "?token="):
            headers = {"Authorization": f"Bearer {shown}"}
            answer = await running.client.post(f"/imme{query}", json=ASKED, headers=headers)
            assert (answer.status_code, answer.json()["error"]) == (401, "key-required")
        for key in ("nonsense", operators):
            answer = await running.client.post(f"/imme?token={key}", json=ASKED)
            assert (answer.status_code, answer.json()["error"]) == (403, "key-refused")
