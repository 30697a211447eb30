"""DeepL's paths with anything in the request: its answers, its errors, and never one of ours."""

from __future__ import annotations

import json
import re
from urllib.parse import urlencode

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.api.compat.deepl import API
from tests.proxy.api.compat.hostile_requests import hostile_requests
from tests.proxy.proxies import RunningProxy, fleet_fixtures
from tests.proxy.waits import set_waits

OPTIONS = [
    *("source_lang", "auth_key", "context", "split_sentences", "formality", "preserve_formatting"),
    *(
        "tag_handling",
        "tag_handling_version",
        "outline_detection",
        "splitting_tags",
        "non_splitting_tags",
        "ignore_tags",
    ),
    *("model_type", "glossary_id", "glossary_ids", "style_id", "custom_instructions", "show_billed_characters"),
]
# Glossaries with a key and a store: test_deepl_glossaries.py.
OTHER_PATHS = [
    path
    for path in dict.fromkeys(re.sub(r"\{\w+\}", "x", route.path) for route in API.routes)
    if path != "/v2/translate"
]
TEXTS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=30), min_size=1, max_size=6)
fake, running, fresh = fleet_fixtures("en>de", "de>en")


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    set_waits(monkeypatch)


def check_error(answer: httpx.Response) -> None:
    assert answer.headers["content-type"] == "application/json"
    # 403: glossaries need a key, also where keys are off.
    assert answer.status_code in {400, 403, 404, 405, 413}, answer.text
    assert list(answer.json()) == ["message"]
    assert isinstance(answer.json()["message"], str)


def check_translations(answer: httpx.Response, texts: list[str] | None = None) -> None:
    items = answer.json()["translations"]
    for item in items:
        assert isinstance(item["text"], str)
        assert isinstance(item["billed_characters"], int)
        assert item["detected_source_language"]
    if texts is not None:
        assert [item["billed_characters"] for item in items] == [len(text) for text in texts]


@pytest.mark.parametrize("path", ["/v2/translate", "/deepl/v2/translate"])
@given(sent=hostile_requests("text", "target_lang", "source_lang") | hostile_requests("text", "target_lang", *OPTIONS))
async def test_any_translation_has_an_answer_of_its_shape(
    running: RunningProxy, path: str, sent: tuple[str, bytes]
) -> None:
    kind, body = sent
    answer = await running.client.post(path, content=body, headers={"Content-Type": kind})
    if answer.status_code == 200:
        check_translations(answer)
    else:
        check_error(answer)


@pytest.mark.parametrize("path", OTHER_PATHS)
@settings(max_examples=20)
@given(
    sent=hostile_requests("type", "resource", "auth_key"),
    query=st.dictionaries(st.sampled_from(["type", "resource", "product", "a"]), st.text(max_size=8), max_size=3),
    method=st.sampled_from(["GET", "POST", "PUT"]),
)
async def test_any_request_to_other_paths_has_an_answer(
    running: RunningProxy, path: str, sent: tuple[str, bytes], query: dict[str, str], method: str
) -> None:
    kind, body = sent
    url = f"{path}?{urlencode(query, errors='ignore')}"
    answer = await running.client.request(method, url, content=body, headers={"Content-Type": kind})
    if answer.status_code == 200:
        assert isinstance(answer.json(), list | dict)
    else:
        check_error(answer)


@given(texts=TEXTS, in_form=st.booleans(), source=st.sampled_from(["EN", ""]))
async def test_lists_keep_length_and_order(
    running: RunningProxy, texts: list[str], source: str, *, in_form: bool
) -> None:
    asked = {"text": texts, "source_lang": source, "target_lang": "DE"}
    kind = "application/x-www-form-urlencoded" if in_form else "application/json"
    body = urlencode(asked, doseq=True) if in_form else json.dumps(asked)
    answer = await running.client.post("/v2/translate", content=body, headers={"Content-Type": kind})
    if answer.status_code == 200:
        check_translations(answer, texts)
    else:
        check_error(answer)
        assert source == ""
        assert "could not be detected" in answer.json()["message"]
