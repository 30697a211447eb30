"""A client that gives up and sends its request again, on the real proxy: the replica sees each text once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any, Final

import pytest

from proxy.cache import coalescing
from tests.conftest import RedisServer
from tests.proxy.integration.keyed_proxies import PATIENT, new_key, used_today
from tests.proxy.proxies import RunningProxy, proxy
from tests.proxy.waits import set_waits
from tests.support.fake_replica import FakeReplica, Script, replicas
from tests.support.waiting import wait_until

# No test waits so long.
LINGER: Final = 3600.0
MIB: Final = 1024 * 1024
ENGLISH: Final = "The weather is fine and we went for a long walk in the park."


@pytest.fixture(autouse=True)
def _all_linger(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every call one of an API whose clients repeat requests, however soon they left."""
    set_waits(monkeypatch, linger_seconds=LINGER)
    monkeypatch.setattr(coalescing, "SHORTEST_TIMEOUT_SECONDS", 0.0)


@pytest.fixture
async def fake() -> AsyncGenerator[FakeReplica]:
    one = FakeReplica("en>de", name="one")
    async with replicas(one):
        yield one


@pytest.fixture
def released(fake: FakeReplica) -> asyncio.Event:
    """Let the replica answer only once this is set."""
    fake.translate = Script(released=asyncio.Event())
    assert fake.translate.released is not None
    return fake.translate.released


def in_flight(running: RunningProxy) -> int:
    return running.context.process.metrics.in_flight


async def leave_once_seen(
    running: RunningProxy, fake: FakeReplica, text: object, source: str = "en", **headers: str
) -> None:
    """Send a request, and leave when a replica has it; return once only its caller may join it."""
    seen, connections = len(fake.requests), running.serving.connections
    task = asyncio.create_task(running.translate(text, source, **headers))
    await wait_until(lambda: len(fake.requests) > seen, 10, "the replica has the request")
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await wait_until(lambda: running.serving.connections <= connections, 10, "the client has gone")
    keys = running.context.translation.coalescer._newest  # pyright: ignore[reportPrivateUsage] - not to be seen outside
    await wait_until(lambda: all(len(key) > coalescing.FINGERPRINT_BYTES for key in keys), 10, "nobody else may join")


async def repeat(
    running: RunningProxy, released: asyncio.Event, text: object, source: str = "en", **headers: str
) -> tuple[str | None, dict[str, Any]]:
    """Send a request again, let the replica answer once it is there, and return the answer's source and body."""
    before = in_flight(running)
    task = asyncio.create_task(running.translate(text, source, **headers))
    await wait_until(lambda: released.is_set() or in_flight(running) > before, 10)
    released.set()
    status, answer, received = await task
    assert status == 200, answer
    return received.get("x-cache"), answer


@pytest.mark.parametrize("text", ["Hello", ["Hello", "", "Bye"]], ids=["text", "list"])
async def test_repeat_joins_the_abandoned_request(fake: FakeReplica, released: asyncio.Event, text: object) -> None:
    async with proxy([fake]) as running:
        await leave_once_seen(running, fake, text)
        assert in_flight(running) == 1
        source, _ = await repeat(running, released, text)
        assert source == "coalesced"
        assert (len(fake.requests), fake.aborts) == (1, 0)
        assert len(running.context.translation.coalescer) == 0


async def test_answer_that_nobody_got_is_kept(fake: FakeReplica, released: asyncio.Event) -> None:
    async with proxy([fake]) as running:
        await leave_once_seen(running, fake, "Hello")
        released.set()
        await wait_until(lambda: in_flight(running) == 0, 10)
        assert running.context.process.body_budget.reserved == 0
        status, answer, headers = await running.translate("Hello")
        assert (status, headers["x-cache"]) == (200, "coalesced")
        assert answer["translation"] == "[en>de by one] Hello"
        assert len(fake.requests) == 1


@pytest.mark.parametrize("source", ["en", "auto"])
async def test_repeat_with_a_key_is_charged_once(
    fake: FakeReplica, redis: RedisServer, released: asyncio.Event, source: str
) -> None:
    async with proxy([fake], redis.url, **PATIENT) as running:
        shown, _ = await new_key(running, pairs=["en-de"])
        other, _ = await new_key(running, pairs=["en-de"])
        mine, others = ({"authorization": f"Bearer {key}"} for key in (shown, other))
        await leave_once_seen(running, fake, ENGLISH, source, **mine)
        assert (await repeat(running, released, ENGLISH, source, **mine))[0] == "coalesced"
        assert len(fake.requests) == 1
        assert await used_today(running, shown) == len(ENGLISH)
        assert (await repeat(running, released, ENGLISH, source, **others))[0] is None
        assert len(fake.requests) == 2


async def test_opted_out_caller_repeats_its_work(
    fake: FakeReplica, redis: RedisServer, released: asyncio.Event
) -> None:
    async with proxy([fake], redis.url, **PATIENT) as running:
        mine = {"authorization": f"Bearer {(await new_key(running, cached=False))[0]}"}
        await leave_once_seen(running, fake, "Hello", **mine)
        await wait_until(lambda: fake.aborts == 1, 10, "its work has ended")
        assert (await repeat(running, released, "Hello", **mine))[0] is None
        assert len(fake.requests) == 2


async def test_partly_cached_list_is_repeated_whole(fake: FakeReplica, released: asyncio.Event) -> None:
    async with proxy([fake], cache_bytes=MIB) as running:
        held, fake.translate = fake.translate, Script()
        await running.translate("one")
        fake.translate = held
        await leave_once_seen(running, fake, ["one", "two", "three"])
        assert fake.requests[-1].body["text"] == ["two", "three"]
        fake.translate = Script()
        await running.translate("two")  # what is missing now is another list
        source, answer = await repeat(running, released, ["one", "two", "three"])
        assert source == "coalesced"
        assert [each["translation"].split("] ")[1] for each in answer["results"]] == ["one", "two", "three"]
        assert len(fake.requests) == 3
        assert (await running.translate(["two", "three"]))[2]["x-cache"] == "hit"


async def test_abandoned_request_ends_at_its_deadline(fake: FakeReplica, released: asyncio.Event) -> None:
    async with proxy([fake]) as running:
        await leave_once_seen(running, fake, "Hello", x_timeout_ms="1000")
        await wait_until(lambda: fake.aborts == 1, 10)
        await wait_until(lambda: not len(running.context.translation.coalescer), 10)
        released.set()


async def test_draining_proxy_waits_for_no_repeat(fake: FakeReplica, released: asyncio.Event) -> None:
    async with proxy([fake]) as running:
        await leave_once_seen(running, fake, "Hello")
        running.serving.app.state.draining.set()
        await wait_until(lambda: fake.aborts == 1, 10)
        released.set()
