"""Operators' keys over HTTP and on the command line: who may, what is refused, and that a secret is seen once."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import subprocess
import sys
import time
from typing import Any

import pytest

from proxy.keys import cli, store
from proxy.keys.api_key import ApiKey, Grant, mint
from tests.conftest import PREFIX, RedisAtHand
from tests.processes import ROOT
from tests.proxy.proxies import RunningProxy, nowhere, proxy

NOBODY = "http://127.0.0.1:1"
TOKEN = "an-operator-token-of-tests"
OPERATOR = {"Authorization": f"Bearer {TOKEN}"}
CREATE = ["create", "--name", "a"]
SHOWN = re.compile(r"pw_[0-9a-f]{12}_[0-9A-Za-z]{32}")


async def order(running: RunningProxy, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
    named = {name.title(): value for name, value in headers.items()} or OPERATOR
    response = await running.client.request(method, path, json=body, headers=named)
    return response.status_code, response.json()


async def test_operators_create_list_change_and_revoke_keys(redis: RedisAtHand) -> None:
    async with proxy([NOBODY], redis.url, operator_token=TOKEN, redis_timeout=5.0) as running:
        asked = {"name": "alice", "requests_per_minute": 5, "pairs": ["EN-de", "zh-hant>de"], "ceiling": "standard"}
        status, made = await order(running, "POST", "/keys", asked)
        assert status == 201
        assert SHOWN.fullmatch(made["key"])
        assert made["key"].split("_")[1] == made["id"]
        assert made["pairs"] == ["en-de", "zh-Hant>de"]
        assert (made["scopes"], made["ceiling"], made["cached"]) == (["translate"], "standard", True)
        view = {name: value for name, value in made.items() if name != "key"}
        path = f"/keys/{made['id']}"
        assert await order(running, "GET", path) == (200, view)
        assert await order(running, "GET", "/keys") == (200, {"keys": [view]})
        changes = {"requests_per_minute": None, "chars_per_day": 9, "cached": False}
        status, changed = await order(running, "PATCH", path, changes)
        assert (status, changed) == (200, view | changes)
        assert await order(running, "PATCH", path, {}) == (200, changed)
        for unknown in ("0" * 12, "x", "%20", path[6:] + "0"):
            assert (await order(running, "GET", f"/keys/{unknown}"))[1]["code"] == "unknown-key"
        status, revoked = await order(running, "DELETE", path)
        assert revoked["revoked_at"] == pytest.approx(time.time(), abs=60)
        assert 29 * 86_400 < redis.client.ttl(f"{PREFIX}key:{made['id']}") <= 30 * 86_400
        assert (await order(running, "GET", "/keys"))[1]["keys"] == [revoked], "shown for 30 days"
        for method, body in (("DELETE", None), ("PATCH", {"name": "bob"})):
            status, problem = await order(running, method, path, body)
            assert (status, problem["code"]) == (404, "unknown-key"), "revoked is for ever"
        redis.client.delete(f"{PREFIX}key:{made['id']}")
        assert (await order(running, "GET", "/keys"))[1]["keys"] == []
        assert (await order(running, "GET", path))[0] == 404
        assert redis.client.zcard(f"{PREFIX}keys") == 0


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
async def test_what_is_no_key_is_refused_and_names_the_field(body: Any, field: str, lonely: RunningProxy) -> None:
    status, problem = await order(lonely, "POST", "/keys", body)
    assert (status, problem["errors"][0]["field"]) == (422, field)


@pytest.fixture(scope="module")
async def lonely() -> Any:
    async with proxy([NOBODY], operator_token=TOKEN, redis_timeout=0.25) as running:
        yield running


async def test_without_redis_no_key_is_made_up(lonely: RunningProxy) -> None:
    for method, path, body in (
        ("POST", "/keys", {"name": "a"}),
        ("GET", "/keys", None),
        ("GET", "/keys/0123456789ab", None),
        ("PATCH", "/keys/0123456789ab", {"name": "b"}),
        ("DELETE", "/keys/0123456789ab", None),
    ):
        status, problem = await order(lonely, method, path, body)
        assert (status, problem["code"]) == (503, "keys-unavailable")


async def test_only_the_token_and_keys_to_operate_change_keys_and_the_fleet(redis: RedisAtHand) -> None:
    async with proxy([NOBODY], redis.url, operator_token=TOKEN, keys="on", redis_timeout=5.0) as running:
        _, plain = await order(running, "POST", "/keys", {"name": "a"})
        _, operator = await order(running, "POST", "/keys", {"name": "b", "scopes": ["operate"]})
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
                _, problem = await order(running, method, path, body, authorization=f"Bearer {shown}".strip())
                assert problem["code"] == code, (method, path)
        for method, path, body in requests:
            status, _ = await order(running, method, path, body, authorization=f"Bearer {operator['key']}")
            assert status in {200, 201}, (method, path)
        status, problem = await order(running, "POST", "/translate", {}, authorization=f"Bearer {operator['key']}")
        assert (status, problem["code"]) == (403, "key-refused")
        assert "scope translate" in problem["detail"]


async def test_a_key_to_operate_needs_no_token_to_be_set(redis: RedisAtHand) -> None:
    async with proxy([NOBODY], redis.url, keys="on", redis_timeout=5.0) as running:
        made, shown = mint(Grant.model_validate({"name": "a", "scopes": ["operate"]}), time.time())
        await running.context.keys.store.add(made)
        assert (await order(running, "GET", "/keys", authorization=f"Bearer {shown}"))[0] == 200
        status, problem = await order(running, "GET", "/keys", authorization="Bearer")
        assert (status, problem["code"]) == (401, "key-required")
    async with proxy([NOBODY], redis.url) as running:
        status, problem = await order(running, "GET", "/keys", authorization=f"Bearer {shown}")
        assert (status, problem["code"]) == (403, "operator-off"), "keys are off here"


async def test_there_are_only_so_many_keys_and_operators_do_not_undo_each_other(
    redis: RedisAtHand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "MAX_KEYS", 3)
    async with proxy([NOBODY], redis.url, operator_token=TOKEN, redis_timeout=5.0) as running:
        made = [await order(running, "POST", "/keys", {"name": f"k{n}"}) for n in range(4)]
        assert [status for status, _ in made] == [201, 201, 201, 409]
        assert made[3][1]["code"] == "keys-full"
        redis.client.delete(f"{PREFIX}key:{made[0][1]['id']}")  # over for 30 days
        assert (await order(running, "POST", "/keys", {"name": "k5"}))[0] == 201
        path = f"/keys/{made[1][1]['id']}"
        both = ({"requests_per_minute": 7}, {"chars_per_day": 8})
        changed = await asyncio.gather(*(order(running, "PATCH", path, body) for body in both))
        assert [status for status, _ in changed] == [200, 200]
        _, view = await order(running, "GET", path)
        assert (view["requests_per_minute"], view["chars_per_day"]) == (7, 8)


def test_what_a_key_may_is_worked_out_once() -> None:
    made, _ = mint(Grant.model_validate({"name": "a", "pairs": ["en-de", "de-en"]}), 0.0)
    assert made.caller is made.caller
    assert ApiKey.model_validate(made.model_dump() | {"pairs": ["en-fr"]}).caller != made.caller


async def test_a_whole_key_in_a_path_is_repeated_nowhere(redis: RedisAtHand, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with proxy([NOBODY], redis.url, operator_token=TOKEN, redis_timeout=5.0) as running:
        _, made = await order(running, "POST", "/keys", {"name": "a"})
        secret = made["key"][-32:]
        for path in (made["key"], f"{made['id']}_{secret}", secret, made["key"].replace("_", "%5F")):
            for where in (f"/keys/{path}", f"/{path}"):
                response = await running.client.delete(where, headers=OPERATOR)
                assert response.status_code == 404
                assert secret not in response.text
        assert (await order(running, "POST", f"/keys/{secret}", {}))[0] == 405
        assert (await running.client.post(f"/keys/{secret}", headers=OPERATOR)).text.count(secret) == 0
    ours = [str(vars(record)) for record in caplog.records if not record.name.startswith("http")]
    assert any("/keys/…" in line for line in ours)
    assert not [line for line in ours if secret in line]


async def test_many_keys_are_read_in_pages_and_none_is_lost(
    redis: RedisAtHand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "PAGE", 3)
    async with proxy([NOBODY], redis.url, operator_token=TOKEN, redis_timeout=5.0) as running:
        made = [(await order(running, "POST", "/keys", {"name": f"k{n}"}))[1] for n in range(8)]
        for gone in (1, 3, 4, 5):
            redis.client.delete(f"{PREFIX}key:{made[gone]['id']}")
        _, listed = await order(running, "GET", "/keys")
        assert [each["name"] for each in listed["keys"]] == ["k0", "k2", "k6", "k7"]
        assert redis.client.zcard(f"{PREFIX}keys") == 4


async def test_a_record_that_can_not_be_read_opens_nothing(
    redis: RedisAtHand, caplog: pytest.LogCaptureFixture
) -> None:
    async with proxy([NOBODY], redis.url, operator_token=TOKEN, keys="on", redis_timeout=5.0) as running:
        made, shown = mint(Grant(name="a"), time.time())
        await running.context.keys.store.add(made)
        redis.client.set(f"{PREFIX}key:{made.id}", '{"name": "of another version"}')
        assert (await order(running, "POST", "/translate", {}, authorization=f"Bearer {shown}"))[0] == 403
        assert (await order(running, "GET", "/keys"))[1] == {"keys": []}
    assert "key can not be read" in caplog.text


@pytest.fixture
def command(redis: RedisAtHand, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run the command against the Redis; return its status and what it wrote."""
    monkeypatch.setenv("PROXY_REDIS_URL", redis.url)
    monkeypatch.setenv("PROXY_REDIS_PREFIX", PREFIX)

    def run(*arguments: str) -> tuple[int, str, str]:
        try:
            status = cli.main(arguments)
        except SystemExit as left:
            status = int(left.code or 0)
        said = capsys.readouterr()
        return status, said.out, said.err

    return run


def test_the_command_does_it_all(command: Any, redis: RedisAtHand) -> None:
    status, shown, told = command(
        "create", "--name", "alice", "--requests-per-minute", "20", "--pairs", "en-de,zh-Hant>de", "--expires", "30d"
    )
    assert status == 0
    assert SHOWN.fullmatch(shown.strip()), "alone on its stream, for scripts"
    key_id = shown.split("_")[1]
    assert key_id in told
    status, listed, _ = command("list")
    assert [line.split()[:4] for line in listed.splitlines()][1] == [key_id, "alice", "translate", "20"]
    assert "en-de,zh-Hant>de" in listed
    assert shown.split("_")[2].strip() not in listed
    status, changed, _ = command("limit", key_id, "--requests-per-minute", "none", "--no-cached", "--json")
    view = json.loads(changed)
    assert (view["requests_per_minute"], view["cached"], view["name"]) == (None, False, "alice")
    assert view["expires_at"] == pytest.approx(time.time() + 30 * 86_400, abs=60)
    assert json.loads(command("limit", key_id, "--expires", "2999-01-01", "--json")[1])["expires_at"] == 32472144000
    assert json.loads(command("show", key_id, "--json")[1])["requests_per_minute"]["used"] == 0
    assert "used: 0 requests in 60 s, 0 characters today" in command("show", key_id)[1]
    assert command("revoke", key_id)[0] == 0
    assert "revoked" in command("show", key_id)[1]
    assert json.loads(command("show", key_id, "--json")[1])["key"]["revoked_at"] > 0
    assert json.loads(command("list", "--json")[1])["keys"][0]["id"] == key_id
    kept: str = redis.client.get(f"{PREFIX}key:{key_id}")
    assert ApiKey.model_validate_json(kept).digest not in listed + changed


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (["show", "0123456789ab"], 1, "No key in force has the id 0123456789ab"),
        (["revoke", "0123456789ab"], 1, "No key in force"),
        (["limit", "0123456789ab", "--name", "x"], 1, "No key in force"),
        ([], 2, "required: command"),
        (["create"], 2, "--name"),
        (["create", "--name", ""], 2, "--name: '' is blank or not printable\n"),
        ([*CREATE, "--requests-per-minute", "0"], 2, "--requests-per-minute: 0 is too small; 1 is the least\n"),
        ([*CREATE, "--requests-per-minute", "-5"], 2, "--requests-per-minute: -5 is too small; 1 is the least\n"),
        ([*CREATE, "--chars-per-day", "2.5"], 2, "'2.5' is no whole number; write one such as 20, or none\n"),
        ([*CREATE, "--pairs", "en-de,xx"], 2, "--pairs: 'xx' is no pair; write en-de, or zh-Hant>de where "),
        ([*CREATE, "--expires", "soon"], 2, "--expires: 'soon' is no time; write 30d, 12h, a date such as "),
        ([*CREATE, "--expires", "2001-01-01"], 2, "--expires: '2001-01-01' has been; write 30d, "),
        ([*CREATE, "--expires", "999999999d"], 2, "--expires: '999999999d' is after the year 9999; write 30d, "),
        ([*CREATE, "--scope", "root"], 2, "--scope: invalid choice: 'root' (choose from 'translate', 'operate')"),
        (["limit", "0123456789ab", "--expires", "0h"], 2, "--expires: '0h' has been; write 30d, "),
    ],
)
def test_what_the_command_can_not_do_it_says(command: Any, arguments: list[str], status: int, told: str) -> None:
    left, out, said = command(*arguments)
    assert (left, out) == (status, "")
    assert told in said
    assert "Input should" not in said


def test_a_record_with_a_time_beyond_all_calendars_does_not_keep_others_from_being_listed(
    command: Any, redis: RedisAtHand
) -> None:
    shown = [command("create", "--name", name)[1].split("_")[1] for name in ("sound", "odd")]
    record: str = redis.client.get(f"{PREFIX}key:{shown[1]}")
    redis.client.set(f"{PREFIX}key:{shown[1]}", json.dumps(json.loads(record) | {"expires_at": 1e15}))
    status, listed, _ = command("list")
    assert (status, "sound" in listed, shown[1] in listed) == (0, True, False)
    assert command("limit", shown[0], "--expires", "9999-12-31T23:00:00-14:00")[0] == 2
    assert command("limit", shown[0], "--expires", "9999-12-31T23:59:59")[0] == 0
    assert "9999-12-31 23:59" in command("list")[1]


def test_the_command_takes_no_key_and_repeats_none(command: Any) -> None:
    shown = mint(Grant(name="a"), 0.0)[1]
    status, _, told = command("revoke", shown)
    assert status == 2
    assert shown not in told


def test_the_command_refuses_wrong_settings_and_says_when_redis_is_away(
    command: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROXY_REDIS_URL", nowhere())
    status, _, told = command("list")
    assert (status, "Redis" in told) == (69, True)
    monkeypatch.setenv("PROXY_REDIS_URL", "hunter2")
    status, _, told = command("list")
    assert (status, "PROXY_REDIS_URL" in told, "hunter2" in told) == (78, True, False)
    monkeypatch.setenv("PROXY_REDIS_ULR", "x")
    status, _, told = command("list")
    assert (status, "did you mean PROXY_REDIS_URL?" in told) == (78, True)


def test_the_command_runs_as_a_module(redis: RedisAtHand) -> None:
    environment = {**os.environ, "PROXY_REDIS_URL": redis.url, "PROXY_REDIS_PREFIX": PREFIX}
    run = [sys.executable, "-m", "proxy.keys", "create", "--name", "bob"]
    done = subprocess.run(run, cwd=ROOT, env=environment, capture_output=True, text=True, check=True, timeout=60)
    assert SHOWN.fullmatch(done.stdout.strip())
