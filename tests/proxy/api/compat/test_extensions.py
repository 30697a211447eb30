"""Kiss Translator and Immersive Translate over HTTP: texts, codes, keys, and errors."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.proxy.integration.inputs import ENGLISH, GERMAN, RUSSIAN
from tests.proxy.proxies import RunningProxy, fleet_fixtures
from tests.support.fake_replica import FakeReplica

ONE = {"text": "Hello", "from": "en", "to": "de"}
BATCH = {"texts": ["Hello", "", "<a1>you</a1> &amp; me"], "from": "en", "to": "de"}
NORWEGIAN = "Været er veldig fint i dag, og vi skal gå en lang tur sammen med bestemor og hunden."


fake, running, fresh = fleet_fixtures("en>de", "de>en", "no>de", "zh>de", "en>zh", "en>zh-Hant")


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
async def test_wrong_fields_of_kiss_have_its_errors(
    running: RunningProxy, change: dict[str, Any], status: int, error: str, message: str
) -> None:
    answer = await running.client.post("/kiss", json={**ONE, **change})
    assert (answer.status_code, answer.json()["error"]) == (status, error)
    assert message in answer.json()["message"]


ASKED = {"source_lang": "en", "target_lang": "de", "text_list": ["Hello", "", "you"]}
CHINESE = "今天天气很好,我们要去公园散步,然后一起吃午饭。"


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
async def test_wrong_fields_of_immersive_have_its_errors(
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
