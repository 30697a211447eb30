"""Glossaries over HTTP: who may, what is refused, what an owner sees."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from proxy.glossaries.glossary import GLOSSARY_BODY_BYTES, MAX_ENTRIES
from tests.conftest import RedisServer
from tests.proxy.integration.keyed_proxies import PATIENT, new_key, stop_clock
from tests.proxy.proxies import RunningProxy, proxy

NOBODY = "http://127.0.0.1:1"
WORD, OTHER = "a-word-of-my-choice", "another word"
NEVER = "01234567-89ab-cdef-0123-456789abcdef"
EN_DE = {"source_lang": "en", "target_lang": "de", "entries": {"invoice": "Rechnung", "R&D": "F&E"}}
SENT = {"name": "Products", "dictionaries": [EN_DE]}
COUNTED = [{"source_lang": "en", "target_lang": "de", "entry_count": 2}]


async def send(
    running: RunningProxy, method: str, path: str, body: Any = None, word: str | None = WORD
) -> tuple[int, Any]:
    headers = {} if word is None else {"Authorization": f"Bearer {word}"}
    response = await running.client.request(method, path, json=body, headers=headers)
    return response.status_code, response.json() if response.content else None


ONE, PAIR = f"/glossaries/{NEVER}", f"/glossaries/{NEVER}/dictionaries/en/de"
CALLS: list[tuple[str, str, Any]] = [
    ("GET", ONE, None),
    ("POST", "/glossaries", SENT),
    ("PATCH", ONE, {"name": "x"}),
    ("PUT", PAIR, {"entries": {"a": "b"}}),
    ("DELETE", PAIR, None),
]


async def test_word_is_needed_where_keys_are_off(redis: RedisServer) -> None:
    async with proxy([NOBODY], redis.url, ready=False) as running:
        for call in CALLS:
            status, problem = await send(running, *call, word=None)
            assert (status, problem["code"]) == (401, "key-required")
            assert "any word of your choice" in problem["detail"]


async def test_key_is_needed_where_keys_are_on(redis: RedisServer) -> None:
    async with proxy([NOBODY], redis.url, ready=False, **PATIENT) as running:
        operator, _ = await new_key(running, scopes=["operate"])
        for call in CALLS:
            assert (await send(running, *call, word=None))[1]["code"] == "key-required"
            assert (await send(running, *call))[1]["code"] == "key-refused"
            assert (await send(running, *call, word=operator))[1]["code"] == "key-refused"


async def test_absent_redis_is_503() -> None:
    async with proxy([NOBODY], ready=False) as running:
        for call in CALLS:
            status, problem = await send(running, *call)
            assert (status, problem["code"]) == (503, "glossaries-unavailable")


async def test_owner_creates_changes_and_deletes_a_glossary(redis: RedisServer) -> None:
    async with proxy([NOBODY], redis.url, ready=False, redis_timeout=5.0) as running:
        status, created = await send(running, "POST", "/glossaries", SENT)
        assert (status, created["name"], created["dictionaries"]) == (201, "Products", COUNTED)
        path = f"/glossaries/{created['id']}"
        pair = f"{path}/dictionaries/EN/deu"
        assert await send(running, "GET", "/glossaries") == (200, {"glossaries": [created]})
        assert await send(running, "GET", path.upper().replace("GLOSSARIES", "glossaries")) == (200, created)
        assert await send(running, "GET", pair) == (200, EN_DE)
        status, merged = await send(running, "PATCH", pair, {"entries": {"invoice": "Faktura", "tax": "Steuer"}})
        assert (status, merged["dictionaries"][0]["entry_count"]) == (200, 3)
        assert (await send(running, "GET", pair))[1]["entries"]["invoice"] == "Faktura"
        _, other = await send(running, "PUT", f"{path}/dictionaries/en/zh-hant", {"entries": {"a": "b"}})
        assert [each["target_lang"] for each in other["dictionaries"]] == ["de", "zh-Hant"]
        await send(running, "PUT", pair, {"entries": {"x": "y"}})
        assert (await send(running, "GET", pair))[1]["entries"] == {"x": "y"}
        status, renamed = await send(running, "PATCH", path, {"name": "New"})
        assert (status, renamed["name"], renamed["created_at"]) == (200, "New", created["created_at"])
        status, left = await send(running, "DELETE", pair)
        assert [each["target_lang"] for each in left["dictionaries"]] == ["zh-Hant"]
        status, problem = await send(running, "GET", pair)
        assert (status, problem["code"], problem["pairs"]) == (404, "unknown-dictionary", ["en>zh-Hant"])
        assert await send(running, "DELETE", path) == (204, None)
        assert (await send(running, "GET", path))[1]["code"] == "unknown-glossary"
        assert await send(running, "GET", "/glossaries") == (200, {"glossaries": []})


async def test_others_see_nothing_of_a_glossary(redis: RedisServer) -> None:
    async with proxy([NOBODY], redis.url, ready=False, **PATIENT) as running:
        mine, _ = await new_key(running)
        theirs, _ = await new_key(running)
        _, created = await send(running, "POST", "/glossaries", SENT, mine)
        for glossary_id in (created["id"], NEVER, "x"):
            path = f"/glossaries/{glossary_id}"
            for method, where, body in (
                ("GET", path, None),
                ("PATCH", path, {"name": "x"}),
                ("DELETE", path, None),
                ("GET", f"{path}/dictionaries/en/de", None),
                ("PUT", f"{path}/dictionaries/en/de", {"entries": {"a": "b"}}),
            ):
                status, problem = await send(running, method, where, body, theirs)
                assert (status, problem["code"]) == (404, "unknown-glossary")
        assert await send(running, "GET", "/glossaries", None, theirs) == (200, {"glossaries": []})
        assert (await send(running, "GET", f"/glossaries/{created['id']}", None, mine))[0] == 200


async def test_requests_count_for_the_keys_limit(redis: RedisServer) -> None:
    async with proxy([NOBODY], redis.url, ready=False, **PATIENT) as running:
        stop_clock(running)
        shown, _ = await new_key(running, requests_per_minute=2)
        answers = [await send(running, "GET", "/glossaries", None, shown) for _ in range(6)]
        assert {status for status, _ in answers[-2:]} == {429}


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"[]", 400, "bad-request"),
        (b'{"name": "a", "name": "a"}', 400, "bad-request"),
        (b'{"name": 3}', 422, "invalid-request"),
        (b'{"name": "a", "glossary": "b"}', 422, "invalid-request"),
        (json.dumps(SENT | {"dictionaries": [EN_DE, EN_DE]}).encode(), 422, "invalid-request"),
        (
            json.dumps(
                SENT | {"dictionaries": [EN_DE | {"entries": {f"{n}": "x" for n in range(MAX_ENTRIES + 1)}}]}
            ).encode(),
            413,
            "too-large",
        ),
        (b" " * (GLOSSARY_BODY_BYTES + 1), 413, "too-large"),
    ],
)
async def test_wrong_bodies_are_refused(redis: RedisServer, body: bytes, status: int, code: str) -> None:
    async with proxy([NOBODY], redis.url, ready=False) as running:
        headers = {"Authorization": f"Bearer {WORD}"}
        response = await running.client.post("/glossaries", content=body, headers=headers)
        assert (response.status_code, response.json()["code"]) == (status, code)
        plain = headers | {"Content-Type": "text/plain"}
        assert (await running.client.post("/glossaries", content=body[:9], headers=plain)).status_code == 415
        path = f"/glossaries/{NEVER}/dictionaries/e/de"
        assert (await running.client.get(path, headers=headers)).status_code == 422


async def test_full_body_budget_refuses(redis: RedisServer) -> None:
    async with proxy([NOBODY], redis.url, ready=False) as running:
        budget = running.context.process.body_budget
        with budget.reserve() as held:
            held.take(budget.limit)
            status, problem = await send(running, "POST", "/glossaries", SENT)
        assert (status, problem["code"]) == (503, "overloaded")
        assert budget.reserved == 0


async def test_word_is_nowhere_but_in_the_request(redis: RedisServer, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        async with proxy([NOBODY], redis.url, ready=False, redis_timeout=5.0) as running:
            _, created = await send(running, "POST", "/glossaries", SENT)
            await send(running, "GET", f"/glossaries/{created['id']}")
            await send(running, "GET", f"/glossaries/{NEVER}", None, OTHER)
    written = [caplog.text, *(str(record.__dict__) for record in caplog.records)]
    for name in redis.keys():  # noqa: SIM118 - not a dict
        kind = redis.client.type(name)
        read = {"string": redis.client.get, "hash": redis.client.hgetall}.get(kind)
        written += [name, str(read(name) if read else redis.client.zrange(name, 0, -1))]
    assert "Products" in "".join(written), "the glossary itself is stored"
    assert not [each for each in written if WORD in each or OTHER in each]
