"""Keys on real proxies with a real Redis: who is let in, and what is charged."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import Counter
from collections.abc import AsyncGenerator

import pytest

from proxy.keys import api_key
from proxy.keys.api_key import Grant, mint
from tests.conftest import RedisServer
from tests.proxy.integration.keyed_proxies import (
    NOBODY,
    OPERATOR,
    PATIENT,
    ask,
    guarded,
    new_key,
    stop_clock,
    usage,
)
from tests.proxy.proxies import proxy
from tests.support.fake_replica import FakeReplica, replicas
from tests.support.waiting import wait_until


@pytest.fixture
async def one() -> AsyncGenerator[FakeReplica]:
    fake = FakeReplica("en>de", "en>fr", "de>en", name="one")
    async with replicas(fake):
        yield fake


async def test_request_without_valid_key_is_refused_unread(
    one: FakeReplica, redis: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with guarded(one, redis.url) as running:
        shown, key = await new_key(running)
        revoked, its = await new_key(running)
        soon = time.time() + 0.2
        expired, _ = await new_key(running, expires_at=soon)
        await wait_until(lambda: time.time() > soon, 3, "it is over")
        await running.context.keys.store.revoke(its.id)
        wrong = shown[:-1] + ("a" if shown[-1] != "a" else "b")
        unknown = mint(Grant(name="x"), 0.0)[1]
        for authorization in (None, "", "Bearer", f"Basic {shown}", shown):
            headers = {} if authorization is None else {"Authorization": authorization}
            # Not even JSON: who has no key is told that first.
            response = await running.client.post("/translate", content=b"{", headers=headers)
            assert (response.status_code, response.json()["code"]) == (401, "key-required")
            assert response.headers["WWW-Authenticate"].startswith("Bearer")
        details: set[str] = set()
        for refused in (
            wrong,
            revoked,
            expired,
            unknown,
            "nonsense",
            f"{shown} x",
            "pw_ä",
            f"pw_{key.id}_",
            "x" * 8000,
        ):
            headers = {b"Authorization": f"Bearer {refused}".encode()}
            response = await running.client.post("/translate", content=b"{", headers=headers)
            assert (response.status_code, response.json()["code"]) == (403, "key-refused")
            details.add(response.json()["detail"])
        assert len(details) == 1, "what is wrong with it is nobody's business"
        assert one.requests == []
        for path in ("/health", "/livez", "/readyz", "/languages"):
            assert (await running.client.get(path)).status_code == 200
        metrics = (await running.client.get("/metrics", headers=OPERATOR)).text
        assert 'pairway_proxy_access_refusals_total{reason="none"} 5.0' in metrics
        assert 'pairway_proxy_access_refusals_total{reason="key"} 9.0' in metrics
        status, answer, headers = await running.translate("Hello", authorization=f"bEaReR   {shown}")
        assert (status, answer["translation"]) == (200, "[en>de by one] Hello")
        assert not [name for name in headers if name.startswith("ratelimit")], "no limits, nothing to tell"
        logged = "".join(str(vars(record)) for record in caplog.records)
        assert f"'key': '{key.id}'" in logged, "the id is for all to see"
        kept = "".join(str(redis.client.get(name)) for name in sorted(redis.keys()) if ":key:" in name)
        for secret in (shown, revoked, wrong):
            assert secret[-32:] not in logged + metrics + kept + repr(key) + repr(running.context.keys.authenticator)
        assert key.digest not in repr(key) + logged


async def test_secrets_are_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[str, str]] = []

    def compare(a: str, b: str) -> bool:
        compared.append((a, b))
        return a == b

    monkeypatch.setattr(api_key.hmac, "compare_digest", compare)
    key, shown = mint(Grant(name="a"), 0.0)
    assert api_key.opens(shown, key)
    assert not api_key.opens(shown, None)
    assert not api_key.opens("", None)
    assert len(compared) == 3
    assert not api_key.opens(key.digest, key), "who reads Redis has no key"


async def test_keys_are_off_on_loopback(one: FakeReplica, redis: RedisServer) -> None:
    async with proxy([one], redis.url) as running:
        assert not running.context.keys.authenticator.on
        assert (await running.translate("Hello"))[0] == 200
        assert (await running.translate("Hello", authorization="Bearer nonsense"))[0] == 200
        response = await running.client.get("/usage")
        assert (response.status_code, response.json()["code"]) == (404, "not-found")


async def test_request_limit_is_exact_through_two_proxies(one: FakeReplica, redis: RedisServer) -> None:
    async with guarded(one, redis.url) as first, guarded(one, redis.url) as second:
        shown, _ = await new_key(first, requests_per_minute=20)
        left = 60 - stop_clock(first, second) % 60
        answers = await asyncio.gather(*(ask((first, second)[n % 2], shown, f"text {n}") for n in range(60)))
        assert Counter(status for status, _, _ in answers) == {200: 20, 429: 40}
        assert len(one.requests) == 20
        for status, answer, headers in answers:
            assert headers["RateLimit-Limit"] == "20"
            assert headers["RateLimit-Policy"] == "20;w=60"
            if status == 429:
                assert answer["code"] == "rate-limited"
                assert "20 requests a minute" in answer["detail"]
                assert headers["RateLimit-Remaining"] == "0"
                assert headers["Retry-After"] == headers["RateLimit-Reset"] == str(math.ceil(left))
        used = await usage(second, shown)
        assert used["requests_per_minute"]["used"] == 20, "looking costs nothing"
        assert used["requests_per_minute"]["remaining"] == 0
        for running in (first, second):
            running.context.keys.store.clock = lambda: time.time() + 60
        assert (await ask(second, shown))[0] == 200, "the next minute"


async def test_every_answer_has_rate_limit_headers(one: FakeReplica, redis: RedisServer) -> None:
    async with guarded(one, redis.url) as running:
        stop_clock(running)
        shown, _ = await new_key(running, requests_per_minute=9, chars_per_day=1000)
        bearer = {"Authorization": f"Bearer {shown}"}
        body = {"text": "Hello", "source_lang": "en", "target_lang": "de"}
        answers = [
            await running.client.post("/translate", content=b"{", headers=bearer),
            await running.client.post("/translate", json={**body, "target_lang": "xx"}, headers=bearer),
            await running.client.post("/translate", json=body, headers=bearer),
            await running.client.post("/translate", json=body, headers={**bearer, "Accept": "text/event-stream"}),
            await running.client.get("/usage", headers=bearer),
        ]
        assert [each.status_code for each in answers] == [400, 404, 200, 200, 200]
        assert [each.headers["RateLimit-Remaining"] for each in answers] == ["8", "7", "6", "5", "5"]
        policies = {each.headers["RateLimit-Policy"] for each in answers}
        assert policies == {'9;w=60, 1000;w=86400;comment="characters"'}
        usage_body = answers[-1].json()
        assert usage_body["chars_per_day"]["used"] == usage_body["chars_per_month"]["used"] == 10
        assert usage_body["chars_per_month"]["limit"] is None
        assert "digest" not in usage_body["key"]


async def test_character_limit_is_exact_through_two_proxies(one: FakeReplica, redis: RedisServer) -> None:
    async with guarded(one, redis.url) as first, guarded(one, redis.url) as second:
        stop_clock(first, second)
        shown, _ = await new_key(first, chars_per_day=100)
        answers = await asyncio.gather(*(ask((first, second)[n % 2], shown, "x" * 10) for n in range(30)))
        assert Counter(status for status, _, _ in answers) == {200: 10, 429: 20}
        refused = next(each for each in answers if each[0] == 429)
        assert "100 characters a day (UTC) and has 0 left, too few for 10" in refused[1]["detail"]
        assert 0 < int(refused[2]["Retry-After"]) <= 86_400
        assert refused[2]["RateLimit-Policy"] == '100;w=86400;comment="characters"'
        assert refused[2]["RateLimit-Remaining"] == "0"
        assert (await usage(second, shown))["chars_per_day"]["used"] == 100
        status, problem, headers = await ask(first, shown, ["x" * 60, "y" * 41])
        assert (status, problem["code"], problem["limit"]) == (413, "too-large", 100)
        assert "101 characters, and this key may translate 100 a day" in problem["detail"]
        assert "Retry-After" not in headers, "it will never fit"


async def test_characters_of_failed_requests_are_refunded(one: FakeReplica, redis: RedisServer) -> None:
    async with guarded(one, redis.url, max_attempts=1) as running:
        shown, _ = await new_key(running, chars_per_day=100, pairs=["en-de"])

        async def left() -> int:
            return (await usage(running, shown))["chars_per_day"]["remaining"]

        bearer = {"Authorization": f"Bearer {shown}"}
        body = {"text": "x" * 40, "source_lang": "en", "target_lang": "de"}
        assert (await running.client.post("/translate", json={**body, "target_lang": "fr"}, headers=bearer)).is_error
        assert await left() == 100, "refused"
        one.translate.problem = (500, "internal")
        assert (await ask(running, shown, "x" * 40))[0] == 502
        assert await left() == 100, "failed"
        one.translate.problem = None
        one.translate.delay = 30
        assert (await ask(running, shown, "x" * 40, x_timeout_ms="200"))[0] == 504
        assert await left() == 100, "timed out"
        for accept in ("application/json", "text/event-stream"):
            had = len(one.requests)
            gone = asyncio.create_task(
                running.client.post("/translate", json=body, headers={**bearer, "Accept": accept})
            )
            await wait_until(lambda had=had: len(one.requests) > had, 5, "it is under way")
            assert await left() == 60
            gone.cancel()

            async def whole() -> bool:
                return await left() == 100

            await wait_until(whole, 5, "the client is gone, its characters are back")
        one.translate.delay = 0
        assert (await ask(running, shown, "x" * 40))[0] == 200
        assert await left() == 60


async def test_revocation_and_new_limit_take_effect_on_both_proxies(one: FakeReplica, redis: RedisServer) -> None:
    async with guarded(one, redis.url) as first, guarded(one, redis.url) as second:
        shown, key = await new_key(first)
        stop_clock(first, second)
        for running in (first, second):
            assert (await ask(running, shown))[0] == 200
        await first.context.keys.store.change(key.id, {"requests_per_minute": 2})
        assert (await ask(second, shown))[0] == 429, "the script reads the record itself"
        await first.context.keys.store.change(key.id, {"requests_per_minute": None})
        await first.context.keys.store.revoke(key.id)
        for running in (first, second):
            status, problem, _ = await ask(running, shown)
            assert (status, problem["code"]) == (403, "key-refused")


async def test_key_is_limited_to_its_pairs_and_their_regions(one: FakeReplica, redis: RedisServer) -> None:
    async with guarded(one, redis.url) as running:
        shown, _ = await new_key(running, pairs=["en-de", "de-fr"], ceiling="bulk")
        bearer = f"Bearer {shown}"
        assert (await running.translate("Hello", "en-GB", "de-AT", authorization=bearer))[0] == 200
        assert one.requests[-1].headers["x-priority"] == "bulk", "no more urgent than the key's class"
        status, answer, _ = await running.translate("Hallo", "de", "fr", authorization=bearer)
        assert (status, answer["route"]) == (200, ["de", "en", "fr"]), "its legs need not be the key's"
        sent = len(one.requests)
        for source in ("en", "auto"):
            text = "The weather is nice today, so we walk to the lake."
            status, problem, _ = await running.translate([text], source, "fr", authorization=bearer)
            assert (status, problem["code"]) == (403, "pair-refused"), source
            assert problem["pairs"] == ["de-fr", "en-de"]
        status, problem, _ = await running.translate("Hello", "ja", "ko", authorization=bearer)
        assert problem["code"] == "pair-refused", "a pair that nobody serves is not told to who may not have it"
        assert len(one.requests) == sent


async def test_start_warns_when_keys_are_on_and_none_exists(
    redis: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    async with proxy([NOBODY], redis.url, **PATIENT) as running:
        await new_key(running)
        [warning] = [each for each in caplog.records if "none is valid" in each.message]
        assert "python -m proxy keys create" in str(vars(warning))
    caplog.clear()
    async with proxy([NOBODY], redis.url, **PATIENT):
        assert "there is none" not in caplog.text
