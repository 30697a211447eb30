"""The command for services' expected replicas."""

from __future__ import annotations

import asyncio
import json
import re
import time

import pytest

from proxy.commands import program
from proxy.fleet.expected_replicas import Expectation
from proxy.fleet.store import FleetStore
from tests.conftest import PREFIX, RedisServer
from tests.proxy.command import Command
from tests.proxy.proxies import nowhere
from tests.proxy.samples import replica

FIRST, SECOND = "http://127.0.0.1:8001", "http://127.0.0.1:8002"


@pytest.fixture
def command(redis: RedisServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Return the command on the Redis."""
    monkeypatch.setenv("PROXY_REDIS_URL", redis.url)
    monkeypatch.setenv("PROXY_REDIS_PREFIX", PREFIX)
    monkeypatch.setenv("PROXY_REPLICAS", "http://localhost:8001,http://localhost:8002,http://nobody.invalid:1")
    return Command(program.main, capsys)


def publish(redis: RedisServer) -> None:
    """Write two replicas to Redis, of which one is ready, as the leader does."""

    async def write() -> None:
        store = FleetStore(redis.url, PREFIX, 5.0, time.time)
        try:
            await store.write([replica(FIRST, "en>de"), replica(SECOND, "en>de", state="draining")], {}, 60)
        finally:
            await store.close()

    asyncio.run(write())


def rows(shown: str) -> list[list[str]]:
    return [re.split("  +", line) for line in shown.splitlines()]


def test_numbers_are_stated_shown_and_taken_back(command: Command, redis: RedisServer) -> None:
    publish(redis)
    status, shown, _ = command("fleet", "expect", "--show")
    assert (status, rows(shown)) == (
        0,
        [
            ["SERVICE", "READY", "EXPECTED"],
            ["localhost", "1", "no number stated"],
            ["nobody.invalid", "0", "no number stated"],
        ],
    )
    status, shown, _ = command("fleet", "expect", "localhost=2", "nobody.invalid=0")
    assert (status, rows(shown)[1]) == (0, ["localhost", "1", "2"])
    assert json.loads(command("fleet", "expect", "--show", "--json")[1]) == {
        "services": {"localhost": {"ready": 1, "expected": 2}, "nobody.invalid": {"ready": 0, "expected": 0}}
    }
    status, shown, _ = command("fleet", "expect", "--now")
    assert (status, rows(shown)[1]) == (0, ["localhost", "1", "1"])
    status, shown, _ = command("fleet", "expect", "localhost=none")
    assert (status, rows(shown)[1]) == (0, ["localhost", "1", "no number stated"])
    record = Expectation.model_validate_json(redis.client.hget(f"{PREFIX}expected", "nobody.invalid"))
    assert (record.count, record.learnt) == (0, False)


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (
            ["fleet", "expect", "api=1"],
            4,
            "api: is not a service; the services of PROXY_REPLICAS are: localhost, nobody.inv",
        ),
        (["fleet", "expect", "--now"], 4, "no proxy has written the fleet's state to Redis, so nothing was changed"),
        (["fleet"], 2, "required: command"),
        (["fleet", "expect"], 2, "give one of SERVICE=NUMBER …, --now and --show"),
        (["fleet", "expect", "localhost=1", "--now"], 2, "give one of"),
        (["fleet", "expect", "localhost"], 2, "'localhost' is not a service and a number; write SERVICE=NUMBER"),
        (["fleet", "expect", "localhost=-1"], 2, "write SERVICE=NUMBER, such as apiserver-de=3"),
        (["fleet", "expect", "localhost=²"], 2, "write SERVICE=NUMBER"),
        (["fleet", "expect", "localhost=1.5"], 2, "write SERVICE=NUMBER"),
        (["fleet", "expect", "=1"], 2, "write SERVICE=NUMBER"),
        (["fleet", "expect", "localhost=1001"], 2, "1001 replicas are too many; the maximum is 1000"),
        (["fleet", "expect", "localhost=" + "9" * 5000], 2, "write SERVICE=NUMBER"),
    ],
)
def test_wrong_use_is_explained(
    command: Command, redis: RedisServer, arguments: list[str], status: int, message: str
) -> None:
    found, shown, said = command(*arguments)
    assert (found, shown) == (status, "")
    assert message in " ".join(said.split())
    assert redis.keys() == []


def test_redis_away_and_wrong_settings_have_statuses(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROXY_REDIS_URL", nowhere())
    assert command("fleet", "expect", "--show")[0] == 3
    monkeypatch.setenv("PROXY_REDIS_TIMEOUT", "soon")
    status, _, said = command("fleet", "expect", "--show")
    assert (status, "PROXY_REDIS_TIMEOUT" in said) == (2, True)
