"""Kiss Translator's custom API: one text, batches, keys and errors."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.requests import Request

from proxy.api.compat.kiss import API
from shared.protocol.errors import PairwayError
from tests.conftest import RedisServer
from tests.proxy.api.compat.hostile_requests import hostile_requests
from tests.proxy.api.compat.transient_fault import post_during_a_fault
from tests.proxy.integration.inputs import ENGLISH
from tests.proxy.integration.keyed_proxies import guarded, new_key
from tests.proxy.proxies import RunningProxy, proxy
from tests.shared.protocol.error_samples import every_error
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


@pytest.mark.parametrize("code", ["zh-CN", "zh_CN", "ZH-CN"])
async def test_codes_are_read_in_any_spelling(running: RunningProxy, code: str) -> None:
    answer = await running.client.post("/kiss", json={**ONE, "to": code})
    assert answer.json()["text"] == "[en>zh by fake] Hello"


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


@pytest.mark.parametrize("error", every_error(), ids=lambda error: error.code)
def test_every_error_has_its_format(error: PairwayError) -> None:
    answer = API.render_error(Request({"type": "http"}), error)
    members = json.loads(bytes(answer.body))
    assert (answer.status_code, members) == (error.http_status, {"error": error.code, "message": error.detail})
    assert ("retry-after" in answer.headers) == (error.retry_after is not None)


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "text/plain"])
async def test_other_than_json_is_refused(running: RunningProxy, kind: str) -> None:
    answer = await running.client.post("/kiss", content=b"text=Hello", headers={"Content-Type": kind})
    assert (answer.status_code, answer.json()["error"]) == (415, "unsupported-media")


async def test_extension_needs_the_setting(fake: FakeReplica, running: RunningProxy) -> None:
    page = {"Origin": "chrome-extension://abcdefghijklmnopabcdefghijklmnop"}
    asked = {
        **page,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization,content-type",
    }
    refused = await running.client.post("/kiss", json=ONE, headers=page)
    assert (refused.status_code, refused.json()["error"]) == (403, "origin-refused")
    async with proxy([fake], cors_origins=("chrome-extension://*",)) as allowing:
        for path, body in (
            ("/kiss", ONE),
            ("/imme", {"text_list": ["Hello"], "source_lang": "en", "target_lang": "de"}),
        ):
            preflight = await allowing.client.options(path, headers=asked)
            answer = await allowing.client.post(path, json=body, headers=page)
            assert [each.status_code for each in (preflight, answer)] == [200, 200]
            assert {each.headers["access-control-allow-origin"] for each in (preflight, answer)} <= {
                page["Origin"],
                "*",
            }


async def test_transient_fault_is_waited_for(fake: FakeReplica, running: RunningProxy) -> None:
    assert (await post_during_a_fault(fake, running, "/kiss", ONE)).status_code == 200


async def test_key_is_a_bearer_and_may_be_empty(fake: FakeReplica, redis: RedisServer) -> None:
    async with guarded(fake, redis.url) as running:
        shown, _ = await new_key(running)
        for authorization in (f"Bearer {shown}", f"bearer {shown}", shown):
            answer = await running.client.post("/kiss", json=ONE, headers={"Authorization": authorization})
            assert answer.status_code == 200
        for authorization in ("Bearer", "", f"Basic {shown}"):
            headers = {"Authorization": authorization}
            answer = await running.client.post(f"/kiss?token={shown}", json=ONE, headers=headers)
            assert (answer.status_code, answer.json()["error"]) == (401, "key-required")
        answer = await running.client.post("/kiss", json=ONE, headers={"Authorization": "Bearer nonsense"})
        assert (answer.status_code, answer.json()["error"]) == (403, "key-refused")


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sent=hostile_requests("text", "texts", "from", "to"))
async def test_any_request_has_an_answer_of_its_shape(running: RunningProxy, sent: tuple[str, bytes]) -> None:
    kind, body = sent
    answer = await running.client.post("/kiss", content=body, headers={"Content-Type": kind})
    assert answer.headers["content-type"] == "application/json"
    if answer.status_code == 200:
        assert answer.json().keys() in ({"translations"}, {"text", "src"})
    else:
        assert answer.status_code in {400, 404, 415, 422}, answer.text
        assert answer.json().keys() == {"error", "message"}


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.text(max_size=20) | st.sampled_from(["", "<a1>you</a1>", "&lt;", "a < b"]), max_size=20))
async def test_any_batch_keeps_length_and_order(running: RunningProxy, texts: list[str]) -> None:
    answer = await running.client.post("/kiss", json={**BATCH, "texts": texts})
    found = [each["text"].removeprefix("[en>de by fake] ") for each in answer.json()["translations"]]
    assert found == texts
