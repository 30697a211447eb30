"""POST /detect on the real proxy: what is refused, what is detected, whom it counts for."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import RedisServer
from tests.proxy.integration.inputs import DEEP, ENGLISH, FRENCH, GERMAN, RUSSIAN
from tests.proxy.integration.keyed_proxies import guarded_fleet, new_key, stop_clock, usage
from tests.proxy.proxies import RunningProxy, fleet_of, proxy
from tests.support.waiting import wait_until

JAPANESE = "今日はとても天気がいいので、長い散歩に行きます。"
BAD_INPUT: list[tuple[str, bytes, int, str, str]] = [
    ("body over the limit", b'{"text": "%s"}' % (b"x" * 9000), 413, "too-large", "8192"),
    ("text over the limit", b'{"text": "%s"}' % (b"x" * 1001), 413, "too-large", "1000"),
    ("too many texts", b'{"text": ["a", "a", "a", "a", "a", "a"]}', 413, "too-large", "at most 5"),
    ("size before fields", b'{"text": [1, 1, 1, 1, 1, 1], "nonsense": 1}', 413, "too-large", "5"),
    ("no body", b"", 400, "bad-request", "JSON"),
    ("not UTF-8", b'{"text": "\xff"}', 400, "bad-request", "JSON"),
    ("half a surrogate pair", b'{"text": "\\ud800"}', 400, "bad-request", "JSON"),
    ("nested without end", DEEP, 400, "bad-request", "JSON"),
    ("an array", b'["Hello"]', 400, "bad-request", "object with text"),
    ("a repeated name", b'{"text": "a", "text": "b"}', 400, "bad-request", "twice"),
    ("an escaped repeated name", b'{"text": "a", "t\\u0065xt": "b"}', 400, "bad-request", "twice"),
    ("no text", b"{}", 422, "invalid-request", "text: is required"),
    ("text is null", b'{"text": null}', 422, "invalid-request", "text: must be a string"),
    ("a text of the list is null", b'{"text": ["a", null]}', 422, "invalid-request", "text[1]"),
    ("empty list", b'{"text": []}', 422, "invalid-request", "text: must not be an empty list"),
    (
        "a field of /translate",
        b'{"text": "a", "target_lang": "de"}',
        422,
        "invalid-request",
        "target_lang: is not a field",
    ),
    ("another API's field", b'{"q": "Hello"}', 422, "invalid-request", "q: is not a field"),
]
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=7) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@pytest.fixture(scope="module")
async def running() -> AsyncGenerator[RunningProxy]:
    limits: dict[str, Any] = {"max_texts": 5, "max_text_chars": 1000, "max_body_bytes": 8192}
    async with fleet_of("en>de", "fr>de", "de>en", "en>ja", **limits) as (one, _):
        yield one


async def detect(running: RunningProxy, text: object, **headers: str) -> tuple[int, dict[str, Any]]:
    response = await running.client.post("/detect", json={"text": text}, headers=headers)
    return response.status_code, response.json()


@pytest.mark.parametrize(("sent", "status", "code", "detail"), [pytest.param(*row[1:], id=row[0]) for row in BAD_INPUT])
async def test_bad_input_is_refused(running: RunningProxy, sent: bytes, status: int, code: str, detail: str) -> None:
    response = await running.client.post("/detect", content=sent)
    problem = response.json()
    assert (response.status_code, problem["status"], problem["code"]) == (status, status, code), problem
    assert response.headers["content-type"] == "application/problem+json"
    assert detail in problem["detail"]


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", ""])
async def test_body_that_is_not_json_is_refused(running: RunningProxy, content_type: str) -> None:
    response = await running.client.post(
        "/detect", content=b'{"text": "Hello"}', headers={"Content-Type": content_type}
    )
    assert (response.status_code, response.json()["code"]) == (415, "unsupported-media")


async def test_invalid_timeout_header_is_refused(running: RunningProxy) -> None:
    status, problem = await detect(running, "Hello", **{"X-Timeout-Ms": "soon"})
    assert (status, problem["errors"][0]["field"]) == (422, "X-Timeout-Ms")


async def test_get_is_not_allowed(running: RunningProxy) -> None:
    assert (await running.client.get("/detect")).status_code == 405


@given(st.dictionaries(st.sampled_from(["text", "q", ""]), ANY_JSON, max_size=2) | ANY_JSON)
async def test_any_json_is_answered_or_refused(running: RunningProxy, value: object) -> None:
    response = await running.client.post("/detect", content=json.dumps(value))
    answer = response.json()
    if response.status_code != 200:
        assert response.status_code in {400, 413, 422}
        assert {"type", "code", "detail"} <= answer.keys()
        return
    assert isinstance(value, dict)
    text = cast("str | list[str]", value["text"])
    results = answer["results"] if isinstance(text, list) else [answer]
    assert len(results) == (len(text) if isinstance(text, list) else 1)
    for each in results:
        languages = [candidate["lang"] for candidate in each["candidates"]]
        assert set(languages) <= {"en", "fr", "de"}
        assert each["detected"] in (None, *each["candidates"][:1])


async def test_no_language_is_detected_before_the_first_report() -> None:
    async with proxy(["http://127.0.0.1:1"]) as lonely:
        response = await lonely.client.post("/detect", json={"text": "Hello"})
        assert (response.status_code, response.json()["code"]) == (503, "pair-unavailable")
        assert int(response.headers["retry-after"]) >= 1


@pytest.mark.parametrize(("text", "lang"), [(ENGLISH, "en"), (FRENCH, "fr"), (GERMAN, "de")])
async def test_text_is_detected_with_its_candidates(running: RunningProxy, text: str, lang: str) -> None:
    status, answer = await detect(running, text)
    assert status == 200
    assert answer.keys() == {"detected", "candidates"}
    assert answer["detected"] == answer["candidates"][0]
    assert (answer["detected"]["lang"], answer["detected"]["confidence"] > 0.9) == (lang, True)
    confidences = [each["confidence"] for each in answer["candidates"]]
    assert confidences == sorted(confidences, reverse=True)


async def test_list_keeps_its_order(running: RunningProxy) -> None:
    status, answer = await detect(running, [FRENCH, "42", ENGLISH, "", FRENCH])
    assert status == 200
    found = [each["detected"] and each["detected"]["lang"] for each in answer["results"]]
    assert found == ["fr", None, "en", None, "fr"]
    assert answer["results"][1] == {"detected": None, "candidates": []}
    assert (await detect(running, [ENGLISH]))[1].keys() == {"results"}


@pytest.mark.parametrize("text", [RUSSIAN, JAPANESE])
async def test_language_that_is_not_translated_is_null(running: RunningProxy, text: str) -> None:
    """Japanese is served, but only as a target."""
    status, answer = await detect(running, text)
    assert (status, answer["detected"]) == (200, None)
    assert all(each["confidence"] < 0.5 for each in answer["candidates"])
    assert answer["unserved"]["lang"] == {RUSSIAN: "ru", JAPANESE: "ja"}[text]
    assert 0.5 <= answer["unserved"]["confidence"] <= 1


async def test_translation_names_the_language_it_is_not_for(running: RunningProxy) -> None:
    response = await running.client.post("/translate", json={"text": RUSSIAN, "target_lang": "de"})
    problem = response.json()
    assert (response.status_code, problem["code"]) == (422, "language-undetected")
    assert problem["unserved"] == (await detect(running, RUSSIAN))[1]["unserved"]


async def test_long_texts_are_detected() -> None:
    async with fleet_of("en>de", "fr>de") as (running, fake):
        status, answer = await detect(running, [FRENCH * 2000, "1 " * 80_000, ENGLISH])
        found = [each["detected"] and each["detected"]["lang"] for each in answer["results"]]
        assert (status, found[0], found[2]) == (200, "fr", "en")
        assert not fake.requests


async def test_key_is_needed_and_only_requests_are_counted(redis: RedisServer) -> None:
    async with guarded_fleet(redis.url, "en>de") as (running, _):
        stop_clock(running)
        shown, _ = await new_key(running, requests_per_minute=2)
        operator, _ = await new_key(running, scopes=["operate"])
        refused = [(await detect(running, ENGLISH, **headers))[0] for headers in ({}, {"Authorization": "Bearer x"})]
        assert refused == [401, 403]
        assert (await detect(running, ENGLISH, Authorization=f"Bearer {operator}"))[0] == 403
        answers = [(await detect(running, ENGLISH, Authorization=f"Bearer {shown}"))[0] for _ in range(3)]
        assert answers == [200, 200, 429]
        used = await usage(running, shown)
        assert (used["requests_per_minute"]["used"], used["chars_per_day"]["used"]) == (2, 0)


async def test_texts_are_never_logged(running: RunningProxy, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("DEBUG"):
        await detect(running, ["a-secret-text"])
        await wait_until(lambda: any(getattr(each, "texts", None) == 1 for each in caplog.records), 3, "the log line")
    assert "secret-text" not in "".join(f"{record.getMessage()} {vars(record)}" for record in caplog.records)
