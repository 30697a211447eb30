"""Keys on real proxies with a real Redis: who is let in, exact limits through two proxies, and life without Redis."""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from proxy.keys import api_key
from proxy.keys.api_key import ApiKey, Grant, mint
from proxy.keys.cached_store import AWAY_SECONDS, RecentlyUsed
from proxy.redis_client import StoreUnavailableError
from tests.conftest import RedisAtHand
from tests.fakes import FakeReplica, replicas
from tests.proxy.proxies import RunningProxy, nowhere, proxy
from tests.waiting import wait_until

NOBODY = "http://127.0.0.1:1"
TOKEN = "an-operator-token-of-tests"
OPERATOR = {"Authorization": f"Bearer {TOKEN}"}
# A machine with other work to do is no Redis that is away.
PATIENT: dict[str, Any] = {"keys": "on", "redis_timeout": 5.0, "operator_token": TOKEN}


async def new_key(running: RunningProxy, **granted: Any) -> tuple[str, ApiKey]:
    """Create a key; return what its holder shows, and its record."""
    made, shown = mint(Grant.model_validate({"name": "a caller", **granted}), time.time())
    await running.context.keys.store.add(made)
    return shown, made


async def ask(
    running: RunningProxy, shown: str, text: object = "Hello", **more: str
) -> tuple[int, dict[str, Any], Any]:
    return await running.translate(text, authorization=f"Bearer {shown}", **more)


async def usage(running: RunningProxy, shown: str) -> dict[str, Any]:
    response = await running.client.get("/usage", headers={"Authorization": f"Bearer {shown}"})
    assert response.status_code == 200, response.text
    return response.json()


@asynccontextmanager
async def guarded(fake: FakeReplica, url: str, **settings: Any) -> AsyncGenerator[RunningProxy]:
    async with proxy([fake], url, **{**PATIENT, **settings}) as running:
        yield running


@pytest.fixture
async def one() -> AsyncGenerator[FakeReplica]:
    fake = FakeReplica("en>de", "en>fr", "de>en", name="one")
    async with replicas(fake):
        yield fake


async def test_without_a_right_key_nothing_is_read_or_sent_and_nothing_told_of_it(
    one: FakeReplica, redis: RedisAtHand, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with guarded(one, redis.url) as running:
        shown, made = await new_key(running)
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
        told: set[str] = set()
        for refused in (
            wrong,
            revoked,
            expired,
            unknown,
            "nonsense",
            f"{shown} x",
            "pw_ä",
            f"pw_{made.id}_",
            "x" * 8000,
        ):
            headers = {b"Authorization": f"Bearer {refused}".encode()}
            response = await running.client.post("/translate", content=b"{", headers=headers)
            assert (response.status_code, response.json()["code"]) == (403, "key-refused")
            told.add(response.json()["detail"])
        assert len(told) == 1, "what is wrong with it is nobody's business"
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
        assert f"'key': '{made.id}'" in logged, "the id is for all to see"
        kept = "".join(str(redis.client.get(name)) for name in sorted(redis.keys()) if ":key:" in name)
        for secret in (shown, revoked, wrong):
            assert secret[-32:] not in logged + metrics + kept + repr(made) + repr(running.context.keys.authenticator)
        assert made.digest not in repr(made) + logged


async def test_secrets_are_compared_in_constant_time_whether_or_not_there_is_such_a_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared: list[tuple[str, str]] = []

    def compare(a: str, b: str) -> bool:
        compared.append((a, b))
        return a == b

    monkeypatch.setattr(api_key.hmac, "compare_digest", compare)
    made, shown = mint(Grant(name="a"), 0.0)
    assert api_key.opens(shown, made)
    assert not api_key.opens(shown, None)
    assert not api_key.opens("", None)
    assert len(compared) == 3
    assert not api_key.opens(made.digest, made), "who reads Redis has no key"


async def test_keys_are_off_on_loopback_and_nothing_of_them_is_asked(one: FakeReplica, redis: RedisAtHand) -> None:
    async with proxy([one], redis.url) as running:
        assert not running.context.keys.authenticator.on
        assert (await running.translate("Hello"))[0] == 200
        assert (await running.translate("Hello", authorization="Bearer nonsense"))[0] == 200
        response = await running.client.get("/usage")
        assert (response.status_code, response.json()["code"]) == (404, "not-found")


async def test_60_at_once_through_two_proxies_at_a_limit_of_20_are_20(one: FakeReplica, redis: RedisAtHand) -> None:
    async with guarded(one, redis.url) as first, guarded(one, redis.url) as second:
        shown, _ = await new_key(first, requests_per_minute=20)
        begun = time.time()
        answers = await asyncio.gather(*(ask((first, second)[n % 2], shown, f"text {n}") for n in range(60)))
        assert Counter(status for status, _, _ in answers) == {200: 20, 429: 40}
        assert len(one.requests) == 20
        for status, answer, headers in answers:
            assert headers["RateLimit-Limit"] == "20"
            assert headers["RateLimit-Policy"] == "20;w=60"
            if status == 429:
                assert answer["code"] == "rate-limited"
                assert "20 requests in 60 s" in answer["detail"]
                assert headers["RateLimit-Remaining"] == "0"
                back = time.time() + int(headers["Retry-After"])
                assert begun + 60 < back <= time.time() + 61
                assert abs(int(headers["RateLimit-Reset"]) - int(headers["Retry-After"])) <= 1
        used = await usage(second, shown)
        assert used["requests_per_minute"]["used"] == 20, "looking costs nothing"
        assert used["requests_per_minute"]["remaining"] == 0


async def test_every_answer_tells_what_is_left_also_errors_and_streams(one: FakeReplica, redis: RedisAtHand) -> None:
    async with guarded(one, redis.url) as running:
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
        told = answers[-1].json()
        assert told["chars_per_day"]["used"] == 10
        assert "digest" not in told["key"]


async def test_characters_of_a_day_are_exact_through_two_proxies(one: FakeReplica, redis: RedisAtHand) -> None:
    async with guarded(one, redis.url) as first, guarded(one, redis.url) as second:
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


async def test_characters_of_what_was_not_served_are_given_back(one: FakeReplica, redis: RedisAtHand) -> None:
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


async def test_a_revoked_key_and_a_changed_limit_hold_at_once_on_both_proxies(
    one: FakeReplica, redis: RedisAtHand
) -> None:
    async with guarded(one, redis.url) as first, guarded(one, redis.url) as second:
        shown, made = await new_key(first)
        for running in (first, second):
            assert (await ask(running, shown))[0] == 200
        await first.context.keys.store.change(made.id, {"requests_per_minute": 2})
        assert (await ask(second, shown))[0] == 429, "the script reads the record itself"
        await first.context.keys.store.change(made.id, {"requests_per_minute": None})
        await first.context.keys.store.revoke(made.id)
        for running in (first, second):
            status, problem, _ = await ask(running, shown)
            assert (status, problem["code"]) == (403, "key-refused")


async def test_a_key_is_for_its_pairs_and_regions_of_them_whichever_way_leads_there(
    one: FakeReplica, redis: RedisAtHand
) -> None:
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


async def test_redis_killed_in_the_middle_leaves_known_keys_their_limits_and_others_wait(
    one: FakeReplica, own_redis: RedisAtHand
) -> None:
    async with guarded(one, own_redis.url, redis_timeout=1.0) as running:
        shown, _ = await new_key(running, requests_per_minute=20)
        stranger, _ = await new_key(running)
        assert Counter([(await ask(running, shown))[0] for _ in range(10)]) == {200: 10}
        pending = asyncio.gather(*(ask(running, shown) for _ in range(30)))
        await asyncio.sleep(0)
        own_redis.server.kill()
        statuses = Counter(status for status, _, _ in await pending)
        statuses += Counter([(await ask(running, shown))[0] for _ in range(20)])
        assert set(statuses) == {200, 429}
        assert statuses[200] == 10, "one proxy alone counts on where Redis stopped"
        status, problem, headers = await ask(running, stranger)
        assert (status, problem["code"], headers["Retry-After"]) == (503, "keys-unavailable", "1")
        wrong = shown[:-1] + ("a" if shown[-1] != "a" else "b")
        assert (await ask(running, wrong))[0] == 403
        assert (await usage(running, shown))["requests_per_minute"]["used"] == 20
        own_redis.start()
        made, again = mint(Grant(name="after"), time.time())

        async def kept() -> bool:
            try:
                await running.context.keys.store.add(made)
            except StoreUnavailableError:
                return False
            return True

        await wait_until(kept, 5, "Redis is back")

        async def let_in() -> bool:
            return (await ask(running, again))[0] == 200

        await wait_until(let_in, 5, "and asked again")


async def test_a_frozen_redis_is_asked_now_and_then_and_nobody_is_refused(
    one: FakeReplica, own_redis: RedisAtHand, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with guarded(one, own_redis.url, redis_timeout=0.5) as running:
        shown, _ = await new_key(running)
        assert (await ask(running, shown))[0] == 200
        store = running.context.keys.store
        asked: list[str] = []

        def counted(call: Any) -> Any:
            def counting(*arguments: Any) -> Any:
                asked.append(call.__name__)
                return call(*arguments)

            return counting

        monkeypatch.setattr(store, "read", counted(store.read))
        monkeypatch.setattr(store, "count", counted(store.count))
        own_redis.server.signal(signal.SIGSTOP)
        begun = time.monotonic()
        try:
            statuses = Counter([(await ask(running, shown))[0] for _ in range(30)])
        finally:
            own_redis.server.signal(signal.SIGCONT)
        assert statuses == {200: 30}
        assert 0 < len(asked) <= (time.monotonic() - begun) / AWAY_SECONDS + 1


async def test_where_so_set_nobody_is_let_in_without_redis(one: FakeReplica, own_redis: RedisAtHand) -> None:
    async with guarded(one, own_redis.url, redis_timeout=1.0, keys_without_redis="closed") as running:
        shown, _ = await new_key(running)
        assert (await ask(running, shown))[0] == 200
        own_redis.server.kill()
        for _ in range(3):
            status, problem, headers = await ask(running, shown)
            assert (status, problem["code"], headers["Retry-After"]) == (503, "keys-unavailable", "1")
        response = await running.client.get("/usage", headers={"Authorization": f"Bearer {shown}"})
        assert response.status_code == 503
        assert len(one.requests) == 1
        metrics = (await running.client.get("/metrics", headers=OPERATOR)).text
        assert 'pairway_proxy_access_refusals_total{reason="unavailable"} 4.0' in metrics


async def test_a_proxy_that_starts_without_redis_lets_nobody_in_yet_and_says_so(
    one: FakeReplica, caplog: pytest.LogCaptureFixture
) -> None:
    async with guarded(one, nowhere(), redis_timeout=0.25) as running:
        status, problem, _ = await ask(running, mint(Grant(name="a"), 0.0)[1])
        assert (status, problem["code"]) == (503, "keys-unavailable")
        assert (await ask(running, "nonsense"))[0] == 403, "this can never be one"
    assert "keys can not be looked up" in caplog.text


async def test_keys_that_are_needed_and_not_there_are_told_of_at_start(
    redis: RedisAtHand, caplog: pytest.LogCaptureFixture
) -> None:
    async with proxy([NOBODY], redis.url, **PATIENT) as running:
        await new_key(running)
        [told] = [each for each in caplog.records if "there is none" in each.message]
        assert "python -m proxy.keys create" in str(vars(told))
    caplog.clear()
    async with proxy([NOBODY], redis.url, **PATIENT):
        assert "there is none" not in caplog.text


async def test_what_is_remembered_is_bounded(one: FakeReplica, redis: RedisAtHand) -> None:
    async with guarded(one, redis.url) as running:
        for n in range(3):
            assert (await ask(running, f"pw_{n:012x}_{'x' * 32}"))[0] == 403
    memory: RecentlyUsed[int] = RecentlyUsed(2)
    for n in range(3):
        memory.put(str(n), n, now=float(n))
    assert [memory.get(str(n), 3.0, 10.0) for n in range(3)] == [None, 1, 2]
    assert memory.get("1", 3.0, 2.0) is None, "too old"
