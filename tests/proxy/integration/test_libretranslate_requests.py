"""LibreTranslate under any request, and under faults that pass."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import RedisServer
from tests.proxy.api.compat.hostile_requests import hostile_requests
from tests.proxy.integration.keyed_proxies import guarded_fleet, new_key, stop_clock
from tests.proxy.proxies import RunningProxy, proxy
from tests.proxy.waits import set_waits
from tests.support.fake_replica import FakeReplica, replicas

ASKED = {"q": "Hello", "source": "en", "target": "de"}
PREFIX = "/libretranslate"
PATHS = ("/translate", "/detect", "/suggest", "/translate_file", "/languages", "/health", "/nothing", "")
REFUSALS = {400, 403, 404, 405}


@pytest.fixture(scope="module")
def fake() -> FakeReplica:
    return FakeReplica("en>de", "de>en")


@pytest.fixture(scope="module")
async def running(fake: FakeReplica) -> AsyncGenerator[RunningProxy]:
    async with replicas(fake), proxy([fake]) as one:
        yield one


def is_answer(path: str, content: Any) -> bool:
    """Return whether this is the answer of a path to a good request."""
    if path == "/detect":
        return all(each.keys() == {"confidence", "language"} for each in content)
    return "translatedText" in content


@given(path=st.sampled_from(PATHS), sent=hostile_requests("q", "source", "target", "format", "alternatives", "api_key"))
async def test_any_request_has_an_answer_of_its_shape(
    running: RunningProxy, path: str, sent: tuple[str, bytes]
) -> None:
    kind, body = sent
    answer = await running.client.post(PREFIX + path, content=body, headers={"Content-Type": kind})
    assert answer.headers["content-type"] == "application/json"
    if answer.status_code == 200:
        assert is_answer(path, answer.json())
    else:
        assert answer.status_code in REFUSALS, answer.text
        assert answer.json().keys() == {"error"}
        assert answer.json()["error"]


@given(
    query=st.dictionaries(
        st.sampled_from(["q", "source", "target", "format", "alternatives", "api_key"]) | st.text(max_size=5),
        st.sampled_from(["en", "de", "auto", "html", "1", "Hello"]) | st.text(max_size=10),
        max_size=6,
    )
)
async def test_any_query_has_an_answer_of_its_shape(running: RunningProxy, query: dict[str, str]) -> None:
    for path in ("/translate", "/detect"):
        answer = await running.client.post(PREFIX + path, params=query)
        good = answer.status_code == 200 and is_answer(path, answer.json())
        assert good or (answer.status_code == 400 and answer.json().keys() == {"error"}), answer.text


@given(
    texts=st.lists(st.text(max_size=20) | st.sampled_from(["", " ", "😀", "<p>Hi</p>"]), min_size=1, max_size=20),
    form=st.booleans(),
)
async def test_any_list_keeps_length_and_order(running: RunningProxy, texts: list[str], form: bool) -> None:
    if form and len(texts) > 1:
        texts = [text.replace("\r", "") for text in texts]
        sent: dict[str, Any] = {"params": {**ASKED, "q": texts}}
    else:
        sent = {"json": {**ASKED, "q": texts}}
    answer = await running.client.post(f"{PREFIX}/translate", **sent)
    assert [text.removeprefix("[en>de by fake] ") for text in answer.json()["translatedText"]] == texts


@pytest.mark.parametrize(("agent", "status"), [("Weblate/5.14.3", 500), ("curl/8", 503)])
async def test_lasting_fault_is_answered_in_the_budget(
    fake: FakeReplica, running: RunningProxy, monkeypatch: pytest.MonkeyPatch, agent: str, status: int
) -> None:
    set_waits(monkeypatch, queue_seconds=0.1)
    fake.translate.problem = (503, "overloaded")
    try:
        answer = await running.client.post(f"{PREFIX}/translate", json=ASKED, headers={"User-Agent": agent})
    finally:
        fake.translate.problem = None
    assert (answer.status_code, list(answer.json())) == (status, ["error"])
    assert "retry-after" in answer.headers


async def test_rate_of_a_key_is_its_slowdown(redis: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    set_waits(monkeypatch, queue_seconds=0.1)
    async with guarded_fleet(redis.url, "en>de") as (one, _):
        stop_clock(one)
        shown, _ = await new_key(one, requests_per_minute=1)
        asked = {**ASKED, "api_key": shown}
        assert (await one.client.post(f"{PREFIX}/translate", json=asked)).status_code == 200
        for agent, status in (("curl/8", 429), ("Weblate/2026.10.1", 500)):
            answer = await one.client.post(f"{PREFIX}/translate", json=asked, headers={"User-Agent": agent})
            assert answer.status_code == status
            assert answer.json()["error"].startswith("Slowdown: This key may send 1 requests a minute")
