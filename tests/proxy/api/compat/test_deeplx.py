"""DeepLX: its requests, keys, and errors in its own format."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.conftest import RedisServer
from tests.proxy.integration.inputs import ENGLISH, RUSSIAN
from tests.proxy.integration.keyed_proxies import guarded, new_key
from tests.proxy.proxies import RunningProxy, fleet_fixtures
from tests.support.fake_replica import FakeReplica

ASKED = {"text": "Hello", "source_lang": "EN", "target_lang": "DE"}
PATHS = ["/deeplx/translate", "/deeplx/v1/translate", "/deeplx/v2/translate"]


fake, running, fresh = fleet_fixtures("en>de", "de>en", "en>zh-Hant", "en>pt-BR")


@pytest.mark.parametrize("path", PATHS[:2])
async def test_text_gets_one_translation(running: RunningProxy, path: str) -> None:
    answer = await running.client.post(path, json=ASKED)
    members = answer.json()
    assert answer.status_code == 200
    assert isinstance(members.pop("id"), int)
    assert members == {
        "code": 200,
        "data": "[en>de by fake] Hello",
        "alternatives": [],
        "source_lang": "EN",
        "target_lang": "DE",
        "method": "Free",
    }


@pytest.mark.parametrize("path", PATHS)
async def test_form_is_read_as_json(running: RunningProxy, path: str) -> None:
    async with httpx.AsyncClient(base_url=running.url, trust_env=False) as client:
        form = await client.post(path, data={**ASKED, "target_lang": "de"})
    as_json = await running.client.post(path, json=ASKED)
    assert {**form.json(), "id": 0} == {**as_json.json(), "id": 0}


@pytest.mark.parametrize("text", [["Hello", "", "you"], "Hello\n\nyou"])
async def test_v2_joins_texts_by_lines(running: RunningProxy, text: object) -> None:
    answer = await running.client.post("/deeplx/v2/translate", json={**ASKED, "text": text, "source_lang": "auto"})
    item = {"detected_source_language": "EN", "text": "[en>de by fake] Hello\n\nyou"}
    assert (answer.status_code, answer.json()) == (200, {"translations": [item]})


@pytest.mark.parametrize("source", ["auto", "AUTO", "", None, ...])
async def test_source_may_be_detected(running: RunningProxy, source: object) -> None:
    asked: dict[str, object] = {"text": ENGLISH, "target_lang": "de"} | (
        {} if source is ... else {"source_lang": source}
    )
    members = (await running.client.post("/deeplx/translate", json=asked)).json()
    assert (members["source_lang"], members["target_lang"]) == ("EN", "DE")
    assert members["data"].startswith("[en>de")


@pytest.mark.parametrize(
    ("source", "target", "pair", "shown"),
    [
        ("en-GB", "ZH-HANT", "en>zh-Hant", "EN"),
        ("EN", "zh-TW", "en>zh-Hant", "EN"),
        ("EN", "pt_br", "en>pt-BR", "EN"),
        ("EN", "PT", "en>pt-BR", "EN"),
    ],
)
async def test_codes_are_read_in_any_spelling(
    running: RunningProxy, source: str, target: str, pair: str, shown: str
) -> None:
    answer = await running.client.post(
        "/deeplx/translate", json={**ASKED, "source_lang": source, "target_lang": target}
    )
    assert answer.json()["data"] == f"[{pair} by fake] Hello"
    assert answer.json()["source_lang"] == shown


async def test_text_without_words_has_no_language(running: RunningProxy) -> None:
    asked = {**ASKED, "text": "123", "source_lang": "auto"}
    members = (await running.client.post("/deeplx/translate", json=asked)).json()
    assert (members["data"], members["source_lang"]) == ("123", "")


@pytest.mark.parametrize("handling", ["", "html", "xml"])
async def test_tag_handling_is_the_format(running: RunningProxy, fake: FakeReplica, handling: str) -> None:
    text = f"<p>You {handling}</p>"
    answer = await running.client.post("/deeplx/translate", json={**ASKED, "text": text, "tag_handling": handling})
    assert answer.status_code == 200
    (asked,) = [each.body for each in fake.requests if each.body["text"] == text]
    assert asked.get("format", "text") == (handling or "text")


@pytest.mark.parametrize(
    ("change", "status", "message"),
    [
        ({"tag_handling": "markdown"}, 400, "Allowed values are 'html' and 'xml'"),
        ({"tag_handling": ["html"]}, 400, "Allowed values are 'html' and 'xml'"),
        ({"text": ""}, 404, "No text to translate"),
        ({"text": None}, 404, "No text to translate"),
        ({"text": []}, 404, "No text to translate"),
        ({"text": 1}, 400, "text: must be"),
        ({"text": [1]}, 400, "text: must be"),
        ({"target_lang": ""}, 400, "target_lang"),
        ({"target_lang": "klingon!"}, 400, "'klingon!' is not a language code"),
        ({"source_lang": "klingon!"}, 400, "'klingon!' is not a language code"),
        ({"source_lang": ["EN"]}, 400, "source_lang: must be a string"),
        ({"target_lang": "JA"}, 400, "No model serves en-ja"),
        ({"text": RUSSIAN, "source_lang": "auto"}, 400, "could not be detected"),
    ],
)
async def test_wrong_fields_have_its_errors(
    running: RunningProxy, change: dict[str, Any], status: int, message: str
) -> None:
    for path in PATHS:
        answer = await running.client.post(path, json={**ASKED, **change})
        members = answer.json()
        assert (answer.status_code, members["code"]) == (status, status)
        assert message in members["message"]
        assert members.keys() == {"code", "message"}


async def test_list_belongs_to_v2(running: RunningProxy) -> None:
    answer = await running.client.post("/deeplx/translate", json={**ASKED, "text": ["a", "b"]})
    assert (answer.status_code, "/v2/translate" in answer.json()["message"]) == (400, True)


@pytest.mark.parametrize("method", ["LMT_handle_jobs", "LMT_handle_texts"])
@pytest.mark.parametrize("path", PATHS)
async def test_web_page_gets_a_hint(running: RunningProxy, path: str, method: str) -> None:
    asked = {"jsonrpc": "2.0", "method": method, "id": 1, "params": {"texts": [{"text": "Hello"}]}}
    answer = await running.client.post(path, json=asked)
    assert (answer.status_code, answer.json()["code"]) == (400, 400)
    assert "DeepL(Custom)" in answer.json()["message"]


async def test_text_in_the_url_is_not_read(running: RunningProxy) -> None:
    answer = await running.client.post("/deeplx/translate?text=Hello&target_lang=DE&source_lang=EN")
    assert (answer.status_code, answer.json()["code"]) == (404, 404)


async def test_key_may_be_in_a_header_or_the_url(fake: FakeReplica, redis: RedisServer) -> None:
    async with guarded(fake, redis.url) as running:
        shown, _ = await new_key(running)
        other, _ = await new_key(running, scopes=["translate", "operate"])
        for path in PATHS:
            for headers in (
                {"Authorization": f"{scheme}{shown}"} for scheme in ("Bearer ", "bearer ", "DeepL-Auth-Key ", "")
            ):
                assert (await running.client.post(path, json=ASKED, headers=headers)).status_code == 200
            for headers in ({}, {"Authorization": "Bearer"}, {"Authorization": "Basic x"}):
                answer = await running.client.post(f"{path}?token={shown}", json=ASKED, headers=headers)
                assert answer.status_code == 200
                for query in ("", "?token=", "?token=nonsense", f"?token={shown}&token={shown}", f"?token={other}"):
                    answer = await running.client.post(path + query, json=ASKED, headers=headers)
                    assert answer.status_code == 401
                    assert answer.json()["code"] == 401
                    assert answer.json()["message"].startswith("Invalid access token")
