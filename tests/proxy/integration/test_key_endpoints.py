"""Operators' keys over HTTP: who may, what is refused, and that a secret is seen once."""

from __future__ import annotations

import logging
import re
import time
from typing import Any

import pytest

from proxy.keys import store
from proxy.keys.api_key import Grant, mint
from tests.conftest import PREFIX, RedisServer
from tests.proxy.proxies import RunningProxy, fleet_of, proxy

NOBODY = "http://127.0.0.1:1"
TOKEN = "an-operator-token-of-tests"
OPERATOR = {"Authorization": f"Bearer {TOKEN}"}
SHOWN = re.compile(r"pw_[0-9a-f]{12}_[0-9A-Za-z]{32}")


async def send_request(
    running: RunningProxy, method: str, path: str, body: Any = None, **headers: str
) -> tuple[int, Any]:
    named = {name.title(): value for name, value in headers.items()} or OPERATOR
    response = await running.client.request(method, path, json=body, headers=named)
    return response.status_code, response.json()


async def test_operator_creates_lists_changes_and_revokes_keys(redis: RedisServer) -> None:
    async with proxy([NOBODY], redis.url, operator_token=TOKEN, redis_timeout=5.0) as running:
        asked = {"name": "alice", "requests_per_minute": 5, "pairs": ["EN-de", "zh-hant>de"], "ceiling": "standard"}
        status, key = await send_request(running, "POST", "/keys", asked)
        assert status == 201
        assert SHOWN.fullmatch(key["key"])
        assert key["key"].split("_")[1] == key["id"]
        assert key["pairs"] == ["en-de", "zh-Hant>de"]
        assert (key["scopes"], key["ceiling"], key["cached"]) == (["translate"], "standard", True)
        assert key["warnings"] == []
        view = {name: value for name, value in key.items() if name not in {"key", "warnings"}}
        path = f"/keys/{key['id']}"
        assert await send_request(running, "GET", path) == (200, view)
        assert await send_request(running, "GET", "/keys") == (200, {"keys": [view]})
        changes = {"requests_per_minute": None, "chars_per_day": 9, "chars_per_month": 90, "cached": False}
        status, changed = await send_request(running, "PATCH", path, changes)
        assert (status, changed.pop("warnings")) == (200, [])
        assert changed == view | changes
        assert await send_request(running, "PATCH", path, {}) == (200, changed | {"warnings": []})
        for unknown in ("0" * 12, "x", "%20", path[6:] + "0"):
            assert (await send_request(running, "GET", f"/keys/{unknown}"))[1]["code"] == "unknown-key"
        status, revoked = await send_request(running, "DELETE", path)
        assert revoked["revoked_at"] == pytest.approx(time.time(), abs=60)
        assert 29 * 86_400 < redis.client.ttl(f"{PREFIX}key:{key['id']}") <= 30 * 86_400
        assert (await send_request(running, "GET", "/keys"))[1]["keys"] == [revoked], "shown for 30 days"
        for method, body in (("DELETE", None), ("PATCH", {"name": "bob"})):
            status, problem = await send_request(running, method, path, body)
            assert (status, problem["code"]) == (404, "unknown-key"), "revoked is for ever"
        redis.client.delete(f"{PREFIX}key:{key['id']}")
        assert (await send_request(running, "GET", "/keys"))[1]["keys"] == []
        assert (await send_request(running, "GET", path))[0] == 404
        assert redis.client.zcard(f"{PREFIX}keys") == 0


async def test_unserved_pair_and_second_name_are_warned_of(redis: RedisServer) -> None:
    settings: dict[str, Any] = {"operator_token": TOKEN, "redis_timeout": 5.0}
    async with fleet_of("en>de", "en>fr", "de>en", redis_url=redis.url, **settings) as (running, _):
        _, served = await send_request(running, "POST", "/keys", {"name": "a", "pairs": ["en-GB>de", "de-fr"]})
        assert served["warnings"] == [], "by a wider pair, and through a pivot"
        status, key = await send_request(running, "POST", "/keys", {"name": "a", "pairs": ["en-de", "enn-de"]})
        pairs = "no server has been seen for enn-de; the pairs that exist: de-en, en-de, en-fr"
        name = f"the name a is also that of the key {served['id']}; revoke the one that is no longer used"
        assert (status, key["warnings"]) == (201, [pairs, name])
        path = f"/keys/{key['id']}"
        assert (await send_request(running, "PATCH", path, {"chars_per_day": 5}))[1]["warnings"] == []
        _, changed = await send_request(running, "PATCH", path, {"name": "b", "pairs": ["fr-de"]})
        assert [text.partition(";")[0] for text in changed["warnings"]] == ["no server has been seen for fr-de"]
        await send_request(running, "DELETE", f"/keys/{served['id']}")
        assert (await send_request(running, "POST", "/keys", {"name": "a"}))[1]["warnings"] == []


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "name"),
        ({"name": " "}, "name"),
        ({"name": "a\nb"}, "name"),
        ({"name": "x" * 101}, "name"),
        ({"name": "a", "scopes": []}, "scopes"),
        ({"name": "a", "scopes": ["root"]}, "scopes"),
        ({"name": "a", "requests_per_minute": 0}, "requests_per_minute"),
        ({"name": "a", "requests_per_minute": True}, "requests_per_minute"),
        ({"name": "a", "requests_per_minute": "5"}, "requests_per_minute"),
        ({"name": "a", "chars_per_day": 10**13}, "chars_per_day"),
        ({"name": "a", "chars_per_month": 0}, "chars_per_month"),
        ({"name": "a", "pairs": []}, "pairs"),
        ({"name": "a", "pairs": ["en"]}, "pairs"),
        ({"name": "a", "pairs": ["zh-Hant-de"]}, "pairs"),
        ({"name": "a", "pairs": ["en-xx1"]}, "pairs"),
        ({"name": "a", "ceiling": "urgent"}, "ceiling"),
        ({"name": "a", "expires_at": -1}, "expires_at"),
        ({"name": "a", "expires_at": 1e15}, "expires_at"),
        ({"name": "a", "expires_at": 30}, "expires_at"),
        ({"name": "a", "id": "0" * 12}, "id"),
        ({"name": "a", "digest": "0" * 64}, "digest"),
    ],
)
async def test_invalid_grant_is_refused_by_field(body: Any, field: str, proxy_without_redis: RunningProxy) -> None:
    status, problem = await send_request(proxy_without_redis, "POST", "/keys", body)
    assert (status, problem["errors"][0]["field"]) == (422, field)


@pytest.fixture(scope="module")
async def proxy_without_redis() -> Any:
    async with proxy([NOBODY], operator_token=TOKEN, redis_timeout=0.25) as running:
        yield running


async def test_keys_are_unavailable_without_redis(proxy_without_redis: RunningProxy) -> None:
    for method, path, body in (
        ("POST", "/keys", {"name": "a"}),
        ("GET", "/keys", None),
        ("GET", "/keys/0123456789ab", None),
        ("PATCH", "/keys/0123456789ab", {"name": "b"}),
        ("DELETE", "/keys/0123456789ab", None),
    ):
        status, problem = await send_request(proxy_without_redis, method, path, body)
        assert (status, problem["code"]) == (503, "keys-unavailable")


async def test_only_operators_change_keys_and_fleet(redis: RedisServer) -> None:
    async with proxy([NOBODY], redis.url, operator_token=TOKEN, keys="on", redis_timeout=5.0) as running:
        _, plain = await send_request(running, "POST", "/keys", {"name": "a"})
        _, operator = await send_request(running, "POST", "/keys", {"name": "b", "scopes": ["operate"]})
        requests = (
            ("POST", "/keys", {"name": "c"}),
            ("GET", "/keys", None),
            ("GET", f"/keys/{plain['id']}", None),
            ("PATCH", f"/keys/{plain['id']}", {"name": "d"}),
            ("POST", "/fleet/replicas/drain", {"url": NOBODY}),
            ("GET", "/fleet", None),
            ("DELETE", f"/keys/{plain['id']}", None),
        )
        for method, path, body in requests:
            for shown, code in (("", "key-required"), (f"{TOKEN}x", "key-refused"), (plain["key"], "key-refused")):
                _, problem = await send_request(running, method, path, body, authorization=f"Bearer {shown}".strip())
                assert problem["code"] == code, (method, path)
        for method, path, body in requests:
            status, _ = await send_request(running, method, path, body, authorization=f"Bearer {operator['key']}")
            assert status in {200, 201}, (method, path)
        status, problem = await send_request(
            running, "POST", "/translate", {}, authorization=f"Bearer {operator['key']}"
        )
        assert (status, problem["code"]) == (403, "key-refused")
        assert "scope translate" in problem["detail"]


async def test_operate_scope_works_without_operator_token(redis: RedisServer) -> None:
    async with proxy([NOBODY], redis.url, keys="on", redis_timeout=5.0) as running:
        key, shown = mint(Grant.model_validate({"name": "a", "scopes": ["operate"]}), time.time())
        await running.context.keys.store.add(key)
        assert (await send_request(running, "GET", "/keys", authorization=f"Bearer {shown}"))[0] == 200
        status, problem = await send_request(running, "GET", "/keys", authorization="Bearer")
        assert (status, problem["code"]) == (401, "key-required")
    async with proxy([NOBODY], redis.url) as running:
        status, problem = await send_request(running, "GET", "/keys", authorization=f"Bearer {shown}")
        assert (status, problem["code"]) == (403, "operator-off"), "keys are off here"


async def test_key_count_is_bounded(redis: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "MAX_KEYS", 3)
    async with proxy([NOBODY], redis.url, operator_token=TOKEN, redis_timeout=5.0) as running:
        answers = [await send_request(running, "POST", "/keys", {"name": f"k{n}"}) for n in range(4)]
        assert [status for status, _ in answers] == [201, 201, 201, 409]
        assert answers[3][1]["code"] == "keys-full"
        redis.client.delete(f"{PREFIX}key:{answers[0][1]['id']}")  # over for 30 days
        assert (await send_request(running, "POST", "/keys", {"name": "k5"}))[0] == 201


async def test_creation_is_logged_with_the_key_id(redis: RedisServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with proxy([NOBODY], redis.url, operator_token=TOKEN, redis_timeout=5.0) as running:
        status, key = await send_request(running, "POST", "/keys", {"name": "alice"})
    assert status == 201
    assert [vars(record)["created_key"] for record in caplog.records if "created_key" in vars(record)] == [key["id"]]


async def test_secret_in_a_path_is_never_repeated(redis: RedisServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with proxy([NOBODY], redis.url, operator_token=TOKEN, redis_timeout=5.0) as running:
        _, key = await send_request(running, "POST", "/keys", {"name": "a"})
        secret = key["key"][-32:]
        for path in (key["key"], f"{key['id']}_{secret}", secret, key["key"].replace("_", "%5F")):
            for where in (f"/keys/{path}", f"/{path}"):
                response = await running.client.delete(where, headers=OPERATOR)
                assert response.status_code == 404
                assert secret not in response.text
        assert (await send_request(running, "POST", f"/keys/{secret}", {}))[0] == 405
        assert (await running.client.post(f"/keys/{secret}", headers=OPERATOR)).text.count(secret) == 0
    ours = [str(vars(record)) for record in caplog.records if not record.name.startswith("http")]
    assert any("/keys/…" in line for line in ours)
    assert not [line for line in ours if secret in line]


async def test_unreadable_record_is_refused(redis: RedisServer, caplog: pytest.LogCaptureFixture) -> None:
    async with proxy([NOBODY], redis.url, operator_token=TOKEN, keys="on", redis_timeout=5.0) as running:
        key, shown = mint(Grant(name="a"), time.time())
        await running.context.keys.store.add(key)
        redis.client.set(f"{PREFIX}key:{key.id}", '{"name": "of another version"}')
        assert (await send_request(running, "POST", "/translate", {}, authorization=f"Bearer {shown}"))[0] == 403
        assert (await send_request(running, "GET", "/keys"))[1] == {"keys": []}
    assert "record cannot be read" in caplog.text
