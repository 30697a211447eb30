"""Keys in URLs: where they are read, whose are refused, and that no log line or answer repeats a query string."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from starlette.routing import Route

from proxy.keys.api_key import Scope
from tests.conftest import RedisServer
from tests.proxy.integration.keyed_proxies import TOKEN, guarded_fleet, new_key
from tests.proxy.proxy_process import proxy_process
from tests.support.fake_replica import FakeReplica, replicas

ASKED = {"q": "Hello", "source": "en", "target": "de"}
NATIVE = {"text": "Hello", "source_lang": "en", "target_lang": "de"}
# Neither has the form of a key of ours, which would be masked anyway.
SECRET = "A.secret-in-a-query"
NAMED = "another.secret"


async def test_url_shows_keys_to_compatible_apis_alone(redis: RedisServer) -> None:
    async with guarded_fleet(redis.url, "en>de") as (running, _):
        shown, _ = await new_key(running)
        ours = {"api_key": shown, "key": shown, "token": shown, "auth_key": shown}
        assert (await running.client.post("/libretranslate/translate", params=ASKED | ours)).status_code == 200
        assert (await running.client.post("/translate", params=ours, json=NATIVE)).status_code == 401
        assert (await running.client.post("/detect", params=ours, json={"text": "Hello"})).status_code == 401
        assert (await running.client.get("/usage", params=ours)).status_code == 401
        for path in ("/fleet", "/keys", "/metrics"):
            for value in (shown, TOKEN):
                query = {"api_key": value, "token": value, "key": value, "access_token": value}
                assert (await running.client.get(path, params=query)).status_code == 401


@pytest.mark.parametrize("path", ["/translate", "/libretranslate/translate"])
async def test_operators_key_is_refused_in_a_url(redis: RedisServer, path: str) -> None:
    async with guarded_fleet(redis.url, "en>de") as (running, _):
        shown, key = await new_key(running, scopes=[Scope.TRANSLATE, Scope.OPERATE])
        asked: dict[str, Any] = {**ASKED, "api_key": shown}
        headers = {"Content-Type": ""}
        refused = await running.client.post(path, params=asked, headers=headers)
        assert refused.status_code == 403
        assert "has the scope operate" in refused.json()["error"]
        assert "only the scope translate" in refused.json()["error"]
        assert (await running.client.post(path, json=asked)).status_code == 200, "a body may show it"
        header = {"Authorization": f"Bearer {shown}"}
        hidden = await running.client.post(f"/translate?key=%70{shown[1:]}", json=NATIVE, headers=header)
        assert hidden.status_code == 403, "the URL shows it, though it was read elsewhere"
        assert (await running.client.post("/translate?key=another", json=NATIVE, headers=header)).status_code == 200
        usage = await running.client.get("/usage", headers={"Authorization": f"Bearer {shown}"})
        assert usage.json()["requests_per_minute"]["used"] <= 2, "a refused request is not counted"
        assert key.id not in refused.text


async def test_operators_key_in_a_url_is_refused_by_every_route(redis: RedisServer) -> None:
    """Whatever route needs a key: none can forget it."""
    async with guarded_fleet(redis.url, "en>de") as (running, _):
        shown, key = await new_key(running, scopes=[Scope.TRANSLATE, Scope.OPERATE])
        header = {"Authorization": f"Bearer {shown}"}
        asked = {"X-Timeout-Ms": "20000"}
        guarded_routes: set[str] = set()
        for path, method in all_routes(running.serving.app):
            url = re.sub(r"\{.*?\}", "x", path)
            without = await running.client.request(method, url, json=ASKED, headers=asked)
            if not needs_key(without):
                continue
            guarded_routes.add(path)
            for in_url in (f"{url}?token={shown}", f"{url}?token=%70{shown[1:]}"):
                refused = await running.client.request(method, in_url, json=ASKED, headers=header | asked)
                assert refused.status_code == (401 if "/deeplx/" in path else 403), (method, path, refused.text)
                assert method == "HEAD" or "has the scope operate" in refused.text, (method, path, refused.text)
        in_path = await running.client.get(f"/keys/{shown}", headers=header)
        assert (in_path.status_code, "has the scope operate" in in_path.text) == (403, True)
        expected = {
            "/usage",
            "/v2/usage",
            "/v2/languages",
            "/v2/glossary-language-pairs",
            "/metrics",
            "/fleet",
            "/keys",
        }
        expected |= {
            "/fleet/replicas",
            "/status/data",
            "/status/stream",
            "/translate",
            "/detect",
            "/glossaries",
            "/kiss",
        }
        expected |= {"/libretranslate/detect", "/deeplx/translate", "/imme", "/v3/languages", "/v3/glossaries"}
        assert expected <= guarded_routes
        assert (await running.client.get(f"/keys/{key.id}", headers=header)).status_code == 200


def all_routes(app: FastAPI) -> list[tuple[str, str]]:
    """Return the path and method of every route of the app."""
    routes = [route for route in app.routes if isinstance(route, Route)]
    return [(route.path, method) for route in routes for method in sorted(route.methods or ()) if method != "TRACE"]


def needs_key(answer: httpx.Response) -> bool:
    """Return whether an answer without a key says that one is needed, in the words of any API."""
    words = ("key-required", "contact the server operator", "A key is needed", "Invalid access token", "Authorization")
    return answer.status_code in {400, 401, 403} and any(each in answer.text for each in words)


async def test_guessed_ids_are_answered_alike(redis: RedisServer) -> None:
    """Only time tells whether an id exists: it is no secret, and the 190 bits behind it are compared in constant time."""
    async with guarded_fleet(redis.url, "en>de") as (running, _):
        shown, key = await new_key(running)
        assert (await running.translate("Hello", authorization=f"Bearer {shown}"))[0] == 200, "now known here"
        wrong = [f"pw_{key_id}_{'x' * 32}" for key_id in (key.id, "0" * 12)]
        for path in ("/translate", "/v2/translate", "/libretranslate/translate", "/usage", "/fleet"):
            answers: list[object] = []
            for each in wrong:
                headers = {"Authorization": f"Bearer {each}", "X-Request-Id": "one"}
                method = "GET" if path in {"/usage", "/fleet"} else "POST"
                answer = await running.client.request(method, path, headers=headers, json=NATIVE | ASKED)
                answers.append((answer.status_code, answer.text, sorted(answer.headers)))
            assert answers[0] == answers[1], path
            assert key.id not in str(answers)


async def exchange(port: int, data: bytes) -> bytes:
    """Send bytes on a connection of their own; return all that comes back."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(data)
    async with asyncio.timeout(20):
        answer = await reader.read()
    writer.close()
    return answer


def hostile_requests() -> list[bytes]:
    """Return requests with a secret in the query: found, not found, wrong, broken, and too long."""
    query = f"api_key={SECRET}&{NAMED}={SECRET}&{NAMED}&url=http://a?{SECRET}&q=Hello&source=en&target=de".encode()
    head = b"Host: localhost\r\nConnection: close\r\n"
    authorized = b"Authorization: Bearer " + TOKEN.encode() + b"\r\n"
    paths = ["/translate", "/detect", "/languages", "/usage", "/health", "/livez", "/readyz", "/startupz", "/metrics", "/fleet", "/fleet/replicas", "/keys", "/keys/x", "/docs", "/openapi.json", "/nowhere", "/libretranslate", "/libretranslate/translate", "/libretranslate/nowhere", "/v2/translate", "/v2/languages", "/deepl/v2/usage", "/imme", "/kiss", "//translate/", "/glossaries"]  # fmt: skip
    lines = [f"{method} {path}?".encode() for path in paths for method in ("GET", "POST", "DELETE", "OPTIONS")]
    typed = (b"", b"Content-Type: application/json\r\n", b"Content-Type: application/x-www-form-urlencoded\r\n")
    requests = [
        line + query + b" HTTP/1.1\r\n" + head + authorized + kind + b"Content-Length: 2\r\n\r\n{]"
        for line in lines
        for kind in (typed if line.startswith(b"POST") else typed[:1])
    ]
    foreign = b"Origin: https://evil.example\r\nReferer: http://localhost/?" + query + b"\r\n"
    requests += [line + query + b" HTTP/1.1\r\n" + head + foreign + b"\r\n" for line in lines]
    start = b"GET /translate?" + query
    broken = (b" HTTP/9.9\r\n\r\n", b" \x00\r\n\r\n", b" HTTP/1.1\r\nno header\r\n\r\n", b"\x01\r\n\r\n")
    too_long = b"&x=" + b"a" * 40_000 + b" HTTP/1.1\r\n" + head + b"\r\n"
    upgrade = b" HTTP/1.1\r\n" + head + b"Upgrade: websocket\r\nConnection: Upgrade, close\r\n\r\n"
    absolute = b"GET http://localhost/translate?" + query + b" HTTP/1.1\r\n" + head + b"\r\n"
    return [*requests, *(start + each for each in (*broken, too_long, upgrade)), absolute]


@pytest.mark.parametrize("log_format", ["json", "text"])
async def test_query_strings_are_in_no_log_and_no_answer(tmp_path: Path, redis: RedisServer, log_format: str) -> None:
    fake = FakeReplica("en>de")
    settings = {"log_format": log_format, "log_level": "debug", "operator_token": TOKEN}
    async with replicas(fake), proxy_process(tmp_path, redis, fake, **settings) as (server, client):
        port = client.base_url.port
        assert port is not None
        statuses: set[bytes] = set()
        for request in hostile_requests()[:: 1 if log_format == "json" else 5]:
            answer = await exchange(port, request)
            statuses.add(answer[9:12])
            for secret in (SECRET, NAMED):
                assert secret.encode() not in answer, (request[:200], answer)
        if log_format == "json":
            assert {b"200", b"400", b"403", b"404", b"405", b"415", b"422", b"431"} <= statuses
        assert b"500" not in statuses
        assert (await client.get("/livez")).status_code == 200
    log = server.tail(100_000)
    assert log.count("/libretranslate/translate") > 1
    assert SECRET not in log
    assert NAMED not in log


async def test_url_of_a_replica_is_repeated_without_its_query(redis: RedisServer) -> None:
    """An operator's mistake: the value is a URL that has a query itself."""
    async with guarded_fleet(redis.url, "en>de") as (running, _):
        operator = {"Authorization": f"Bearer {TOKEN}"}
        wrong = f"http://127.0.0.1:1/?token={SECRET}"
        answers = [
            await running.client.delete("/fleet/replicas", params={"url": wrong}, headers=operator),
            await running.client.post("/fleet/replicas", json={"url": wrong}, headers=operator),
        ]
    assert [answer.status_code for answer in answers] == [422, 422]
    assert all("http://127.0.0.1:1/" in answer.text and SECRET not in answer.text for answer in answers)
