"""DeepL with keys: where they are read, and the statuses of keys that are refused or used up."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import pytest

from tests.conftest import RedisServer
from tests.proxy.integration.keyed_proxies import guarded_fleet, new_key, stop_clock
from tests.proxy.proxies import RunningProxy

ASKED: dict[str, Any] = {"text": ["Hello"], "target_lang": "DE", "source_lang": "EN"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
EMPTY = {"Content-Type": "multipart/form-data; boundary=a"}


@pytest.fixture
async def running(redis: RedisServer) -> AsyncGenerator[RunningProxy]:
    async with guarded_fleet(redis.url, "en>de", "en>fr") as (one, _):
        stop_clock(one)
        yield one


def deepl_key(shown: str) -> dict[str, str]:
    return {"Authorization": f"DeepL-Auth-Key {shown}"}


async def statuses(running: RunningProxy, headers: dict[str, str], times: int = 1) -> list[int]:
    answers = [await running.client.post("/v2/translate", json=ASKED, headers=headers) for _ in range(times)]
    assert all(answer.status_code == 200 or list(answer.json()) == ["message"] for answer in answers)
    return [answer.status_code for answer in answers]


async def test_key_is_read_from_header_or_body(running: RunningProxy) -> None:
    shown, _ = await new_key(running)
    for scheme in ("DeepL-Auth-Key", "deepl-auth-key", "Bearer"):
        assert await statuses(running, {"Authorization": f"{scheme} {shown}"}) == [200]
    in_json = await running.client.post("/v2/translate", json={**ASKED, "auth_key": shown})
    in_form = f"auth_key={shown}&text=Hello&target_lang=de"
    assert in_json.status_code == 200
    assert (await running.client.post("/v2/translate", content=in_form, headers=FORM)).status_code == 200
    usage = await running.client.post("/v2/usage", content=f"auth_key={shown}", headers=FORM)
    assert (usage.status_code, usage.json()["character_count"]) == (200, 25)


@pytest.mark.parametrize("scheme", ["", "DeepL-Auth-Key", "Bearer", "Basic abc"])
async def test_without_a_key_every_path_is_forbidden(running: RunningProxy, scheme: str) -> None:
    headers = {"Authorization": scheme} if scheme else {}
    assert await statuses(running, headers) == [403]
    assert (await running.client.post("/v2/translate", json={**ASKED, "auth_key": ""})).status_code == 403
    for path in ("/v2/languages", "/v2/usage", "/v3/languages?resource=translate_text", "/v3/languages/resources"):
        answer = await running.client.get(path, headers=headers)
        assert answer.status_code == 403
        assert "DeepL-Auth-Key" in answer.json()["message"]


async def test_key_in_the_url_is_not_read(running: RunningProxy) -> None:
    shown, _ = await new_key(running)
    for path in ("/v2/usage", "/v2/languages"):
        in_url = f"{path}?auth_key={shown}"
        assert (await running.client.get(in_url)).status_code == 403
        assert (await running.client.request("GET", in_url, content="type=target", headers=FORM)).status_code == 403
        assert (await running.client.request("GET", in_url, content="--a--\r\n", headers=EMPTY)).status_code == 403
    answer = await running.client.post(f"/v2/translate?auth_key={shown}&text=Hello&target_lang=DE")
    assert answer.status_code == 403
    assert shown not in answer.text


async def test_refused_keys_are_forbidden(running: RunningProxy) -> None:
    shown, key = await new_key(running)
    operator, _ = await new_key(running, scopes=["operate"])
    assert await statuses(running, deepl_key(f"{shown}x")) == [403]
    assert await statuses(running, {"Authorization": "nonsense"}) == [403]
    assert await statuses(running, deepl_key(operator)) == [403]
    only_french, _ = await new_key(running, pairs=["en-fr"])
    assert await statuses(running, deepl_key(only_french)) == [403]
    await running.context.keys.store.revoke(key.id)
    assert (await running.client.get("/v2/usage", headers=deepl_key(shown))).status_code == 403


@pytest.mark.parametrize("limit", ["chars_per_day", "chars_per_month"])
async def test_used_up_characters_are_456(running: RunningProxy, limit: str) -> None:
    shown, _ = await new_key(running, **{limit: 12})
    assert await statuses(running, deepl_key(shown), 3) == [200, 200, 456]
    weblate = {**deepl_key(shown), "User-Agent": "Weblate/2026.10.1"}
    assert await statuses(running, weblate) == [456]


async def test_used_up_requests_are_429_but_for_weblate(running: RunningProxy) -> None:
    shown, _ = await new_key(running, requests_per_minute=1)
    assert await statuses(running, deepl_key(shown), 2) == [200, 429]
    assert await statuses(running, {**deepl_key(shown), "User-Agent": "Weblate/5.14.3"}) == [500]


async def test_usage_is_of_the_month(running: RunningProxy) -> None:
    shown, _ = await new_key(running, chars_per_month=50, chars_per_day=40, requests_per_minute=1)
    assert await statuses(running, deepl_key(shown)) == [200]
    for _ in range(3):  # not counted as requests
        answer = await running.client.get("/deepl/v2/usage", headers=deepl_key(shown))
        assert answer.json() == {"character_count": 5, "character_limit": 50}
        assert (await running.client.get("/v2/languages", headers=deepl_key(shown))).status_code == 200


async def test_keys_that_cannot_be_looked_up_are_503(own_redis: RedisServer) -> None:
    async with guarded_fleet(own_redis.url, "en>de") as (running, _):
        shown, _ = await new_key(running)
        own_redis.server.kill()
        assert await statuses(running, deepl_key(shown)) == [503]
        assert await statuses(running, {**deepl_key(shown), "User-Agent": "Weblate/5.14.3"}) == [500]
        for path in ("/v2/usage", "/v2/languages"):
            assert (await running.client.get(path, headers=deepl_key(shown))).status_code == 503
