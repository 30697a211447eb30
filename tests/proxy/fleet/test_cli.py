"""Changes of the fleet, and the command for its numbers."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import time
from collections.abc import AsyncGenerator

import pytest

from proxy.fleet import __main__ as cli
from proxy.fleet.admin import FleetAdmin
from proxy.fleet.discovery import Discovery
from proxy.fleet.expected_replicas import Expectation
from proxy.fleet.overrides import OverrideKind
from proxy.fleet.replica import ReplicaState
from proxy.fleet.store import FleetStore
from shared.protocol.errors import InvalidRequestError, UnknownReplicaError
from tests.conftest import PREFIX, RedisServer
from tests.proxy.command import Command
from tests.proxy.fleet.registries import A, B, ProxyParts, proxy_at
from tests.proxy.proxies import nowhere
from tests.proxy.samples import replica
from tests.support.processes import ROOT

NEW = "http://127.0.0.1:9"


@pytest.fixture
async def parts() -> AsyncGenerator[ProxyParts]:
    async with proxy_at(nowhere()) as one:
        one.adopt(replica(A, "en>de"), replica(B, "en>de"))
        yield one


@pytest.fixture
def admin(parts: ProxyParts) -> FleetAdmin:
    return FleetAdmin(parts.registry, Discovery())


async def test_drain_and_resume_return_the_override_and_its_urls(parts: ProxyParts, admin: FleetAdmin) -> None:
    drained = await admin.drain(A)
    assert (drained.override.verdict, drained.urls, drained.shared) == (OverrideKind.DRAINED, (A,), False)
    assert parts.state(A) is ReplicaState.DRAINING
    resumed = await admin.resume(A)
    assert resumed.override.is_undone()
    assert parts.state(A) is ReplicaState.READY


async def test_added_replica_is_removed_without_a_trace(parts: ProxyParts, admin: FleetAdmin) -> None:
    added = await admin.add(NEW, 2.0, keeps_weight=False)
    assert (added.urls, added.override.added, added.override.weight) == ((NEW,), True, 2.0)
    assert (await admin.add(NEW, None, keeps_weight=True)).override.weight == 2.0
    removed = await admin.remove(NEW)
    assert (removed.urls, removed.override.is_undone()) == ((), True)
    assert NEW not in parts.registry.snapshot.replicas


async def test_removed_replica_of_the_settings_stays_removed(parts: ProxyParts, admin: FleetAdmin) -> None:
    assert not (await admin.remove(B)).override.is_undone()
    assert parts.registry.fleet_urls() == [A]
    assert (await admin.add(B, None, keeps_weight=True)).urls == (B,)


async def test_unknown_replica_is_refused(admin: FleetAdmin) -> None:
    for command in (admin.drain, admin.resume, admin.remove):
        with pytest.raises(UnknownReplicaError, match=NEW):
            await command(NEW)


async def test_expected_replicas_hold_here_without_redis() -> None:
    async with proxy_at(nowhere(), configured=("http://de:1",)) as parts:
        admin = FleetAdmin(parts.registry, Discovery())
        assert not await admin.expect({"de": 2})
        assert [each.expected for each in parts.registry.services] == [2]
        with pytest.raises(InvalidRequestError, match="fr: is not a service"):
            await admin.expect({"fr": 2})


FIRST, SECOND = "http://127.0.0.1:8001", "http://127.0.0.1:8002"


@pytest.fixture
def command(redis: RedisServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Return the command on the Redis."""
    monkeypatch.setenv("PROXY_REDIS_URL", redis.url)
    monkeypatch.setenv("PROXY_REDIS_PREFIX", PREFIX)
    monkeypatch.setenv("PROXY_REPLICAS", "http://localhost:8001,http://localhost:8002,http://nobody.invalid:1")
    return Command(cli.main, capsys)


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
    status, shown, _ = command("expect", "--show")
    assert (status, rows(shown)) == (
        0,
        [
            ["service", "ready", "expected"],
            ["localhost", "1", "no number stated"],
            ["nobody.invalid", "0", "no number stated"],
        ],
    )
    status, shown, _ = command("expect", "localhost=2", "nobody.invalid=0")
    assert (status, rows(shown)[1]) == (0, ["localhost", "1", "2"])
    assert json.loads(command("expect", "--show", "--json")[1]) == {
        "services": {"localhost": {"ready": 1, "expected": 2}, "nobody.invalid": {"ready": 0, "expected": 0}}
    }
    status, shown, _ = command("expect", "--now")
    assert (status, rows(shown)[1]) == (0, ["localhost", "1", "1"])
    status, shown, _ = command("expect", "localhost=none")
    assert (status, rows(shown)[1]) == (0, ["localhost", "1", "no number stated"])
    record = Expectation.model_validate_json(redis.client.hget(f"{PREFIX}expected", "nobody.invalid"))
    assert (record.count, record.learnt) == (0, False)


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["expect", "api=1"], 1, "api: is not a service; the services of PROXY_REPLICAS are: localhost, nobody.inv"),
        (["expect", "--now"], 1, "no proxy has written the fleet's state to Redis, so nothing was changed"),
        ([], 2, "required: command"),
        (["expect"], 2, "give one of SERVICE=NUMBER …, --now and --show"),
        (["expect", "localhost=1", "--now"], 2, "give one of"),
        (["expect", "localhost"], 2, "'localhost' is not a service and a number; write SERVICE=NUMBER"),
        (["expect", "localhost=-1"], 2, "write SERVICE=NUMBER, such as apiserver-de=3"),
        (["expect", "localhost=²"], 2, "write SERVICE=NUMBER"),
        (["expect", "localhost=1.5"], 2, "write SERVICE=NUMBER"),
        (["expect", "=1"], 2, "write SERVICE=NUMBER"),
        (["expect", "localhost=1001"], 2, "1001 replicas are too many; the maximum is 1000"),
        (["expect", "localhost=" + "9" * 5000], 2, "write SERVICE=NUMBER"),
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
    assert command("expect", "--show")[0] == 69
    monkeypatch.setenv("PROXY_REDIS_TIMEOUT", "soon")
    status, _, said = command("expect", "--show")
    assert (status, "PROXY_REDIS_TIMEOUT" in said) == (78, True)


def test_program_runs_without_package_of_its_own() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "proxy.fleet", "expect", "--help"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "--now" in ran.stdout
