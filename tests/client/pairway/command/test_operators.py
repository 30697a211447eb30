"""Groups of operators, keys and fleet, with a real proxy and a fake replica."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from pairway.command.operator_access import SECONDS

from tests.client.pairway.command.command_line import Ended, Program
from tests.conftest import RedisServer
from tests.proxy.proxies import RunningProxy, proxy
from tests.support.fake_replica import FakeReplica, replicas

TOKEN = "an-operator-token-of-tests"
OTHER = "http://127.0.0.1:1"


@pytest.fixture(name="fake")
async def _fake() -> AsyncGenerator[FakeReplica]:
    fake = FakeReplica("en>de", name="fake")
    async with replicas(fake):
        yield fake


@pytest.fixture(name="operated")
async def _operated(
    fake: FakeReplica, redis: RedisServer, run: Program, monkeypatch: pytest.MonkeyPatch
) -> AsyncGenerator[RunningProxy]:
    """A proxy whose only service is `de`, and the token in the environment."""
    assert run

    async def resolver(_: str) -> list[str]:
        return ["127.0.0.1"]

    url = f"http://de:{fake.port}"
    async with proxy([url], redis.url, resolver=resolver, operator_token=TOKEN) as one:
        monkeypatch.setenv("PAIRWAY_URL", one.url)
        monkeypatch.setenv("PAIRWAY_KEY", "a-key-that-only-translates")
        monkeypatch.setenv("PROXY_OPERATOR_TOKEN", TOKEN)
        yield one


async def done(run: Program, *arguments: str) -> Ended:
    ended = await asyncio.to_thread(run, *arguments)
    assert ended.code == 0, ended.err
    return ended


async def refused(run: Program, code: int, *arguments: str) -> str:
    """Return the one line of a command that ends with this code."""
    ended = await asyncio.to_thread(run, *arguments)
    assert (ended.code, ended.out) == (code, "")
    assert ended.err.count("\n") == 1, ended.err
    return ended.err


@pytest.mark.usefixtures("operated")
async def test_key_from_its_creation_to_its_end(run: Program) -> None:
    created = await done(run, "keys", "create", "--name", "alice", "--requests-per-minute", "60", "--pairs", "en-xx")
    assert created.out.startswith("pw_")
    key_id = created.out.split("_")[1]
    assert f"its id is {key_id}" in created.err
    assert "warning: no server has been seen for en-xx" in created.err

    listed = (await done(run, "keys", "list")).out.splitlines()
    assert listed[0].split("  ")[0] == "ID"
    assert "REVOKED AT" not in listed[0], "a column without a value is left out"
    assert listed[1].split()[:2] == [key_id, "alice"]

    changed = json.loads(
        (
            await done(
                run,
                "keys",
                "limit",
                key_id,
                "--json",
                "--requests-per-minute",
                "none",
                "--expires",
                "30d",
                "--no-cached",
            )
        ).out
    )
    assert (changed["requests_per_minute"], changed["cached"], changed["pairs"]) == (None, False, ["en-xx"])
    assert 29 * 86_400 < changed["expires_at"] - time.time() <= 30 * 86_400
    more = ("--expires", "2030-01-31", "--pairs", "none", "--scope", "translate", "--scope", "operate")
    await done(run, "keys", "limit", key_id, *more)
    (shown,) = (json.loads((await done(run, "keys", "list", key_id, "--json")).out),)
    assert (shown["expires_at"], shown["pairs"], shown["scopes"]) == (1_896_048_000, None, ["operate", "translate"])

    assert "REVOKED AT" in (await done(run, "keys", "revoke", key_id)).out
    assert "unknown-key" in await refused(run, 4, "keys", "revoke", "0" * 12)
    created = json.loads((await done(run, "keys", "create", "--name", "bob", "--json", "--expires", "none")).out)
    assert created["key"].startswith(f"pw_{created['id']}_")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["keys", "create"], "--name"),
        (["keys", "create", "--name", "a", "--chars-per-day", "many"], "'many'"),
        (["keys", "create", "--name", "a", "--expires", "soon"], "2030-01-31"),
        (["fleet", "add", OTHER, "--weight", "heavy"], "'heavy'"),
        (["fleet", "expect"], "--now"),
        (["fleet", "expect", "--now", "--show"], "--now"),
        (["fleet", "expect", "de"], "'de' is not a number; write one, or none"),
    ],
)
async def test_wrong_option_sends_nothing(run: Program, arguments: list[str], said: str) -> None:
    assert said in await refused(run, 2, *arguments)


@pytest.mark.usefixtures("operated")
async def test_value_that_the_server_refuses_is_said(run: Program) -> None:
    line = await refused(run, 4, "keys", "create", "--name", "alice", "--requests-per-minute", "0")
    assert "requests_per_minute" in line


async def test_replica_is_drained_resumed_added_and_removed(
    run: Program, operated: RunningProxy, fake: FakeReplica
) -> None:
    listed = (await done(run, "fleet", "list")).out.splitlines()
    assert listed[0].split()[:2] == ["URL", "STATE"]
    assert listed[1].split()[:2] == [fake.url, "ready"]
    assert len(listed) == 2
    assert json.loads((await done(run, "fleet", "drain", fake.url, "--json")).out)["replicas"][0]["drained"] is True
    listed = (await done(run, "fleet", "list")).out
    assert listed.splitlines()[-3] == "Changes of operators in force:"
    assert "drained" in listed.splitlines()[-1]
    assert "DRAINED" not in (await done(run, "fleet", "resume", fake.url)).out
    assert "2.0" in (await done(run, "fleet", "add", fake.url, "--weight", "2")).out
    assert "2.0" not in (await done(run, "fleet", "add", fake.url, "--weight", "none")).out
    assert (await done(run, "fleet", "remove", fake.url)).out == f"{fake.url} is removed\n"
    assert (await done(run, "fleet", "list")).err == "pairway: There are none.\n"
    await done(run, "fleet", "add", fake.url)
    assert json.loads((await done(run, "fleet", "remove", fake.url, "--json")).out)["replicas"] == []
    assert json.loads((await done(run, "fleet", "list", "--json")).out)["replicas"] == []
    assert (await operated.health())["status"] == "down"


@pytest.mark.usefixtures("operated")
async def test_expected_replicas_are_stated_shown_and_taken_back(run: Program) -> None:
    shown = (await done(run, "fleet", "expect", "de=3")).out.splitlines()
    assert [line.split()[:3] for line in shown] == [["SERVICE", "READY", "EXPECTED"], ["de", "1", "3"]]
    services = json.loads((await done(run, "fleet", "expect", "--now", "--json")).out)["services"]
    assert (services["de"]["ready"], services["de"]["expected"]) == (1, 1)
    await done(run, "fleet", "expect", "de=none")
    assert "no number stated" in (await done(run, "fleet", "expect", "--show")).out
    assert "fr" in await refused(run, 4, "fleet", "expect", "fr=1")


async def test_change_without_redis_is_said(fake: FakeReplica, run: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROXY_OPERATOR_TOKEN", TOKEN)
    monkeypatch.setitem(SECONDS, "PROXY", 2.0)
    async with proxy([fake], operator_token=TOKEN) as one:
        ended = await done(run, "fleet", "drain", fake.url, "--url", one.url)
        assert "Redis is away" in ended.err
        assert "keys-unavailable" in await refused(run, 3, "keys", "list", "--url", one.url)


async def test_operators_calls_that_are_off_say_how_to_set_a_token(fake: FakeReplica, run: Program) -> None:
    async with proxy([fake]) as one:
        for arguments in (["keys", "list"], ["fleet", "expect", "de=1"]):
            line = await refused(run, 4, *arguments, "--url", one.url)
            assert "PROXY_OPERATOR_TOKEN=… in .env, then make roll" in line
            assert "python -m proxy keys" in line


async def test_token_is_of_the_environment_a_file_or_the_run(
    run: Program, operated: RunningProxy, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text(TOKEN)
    monkeypatch.setenv("PROXY_OPERATOR_TOKEN", "another-token-of-an-operator")
    assert "PROXY_OPERATOR_TOKEN" in await refused(run, 4, "keys", "list")
    await done(run, "keys", "list", "--key-file", "token")
    monkeypatch.delenv("PROXY_OPERATOR_TOKEN")
    monkeypatch.delenv("PAIRWAY_KEY")
    assert "PROXY_OPERATOR_TOKEN" in await refused(run, 4, "keys", "list")
    run_dir = tmp_path / ".run"
    run_dir.mkdir()
    (run_dir / "operator-token").write_text(TOKEN)
    await done(run, "keys", "list")
    await done(run, "status")
    monkeypatch.setenv("HTTP_PROXY", OTHER)
    await done(run, "keys", "list")  # no HTTP proxy is between it and its own machine
    monkeypatch.delenv("HTTP_PROXY")
    port = operated.url.rpartition(":")[2]
    monkeypatch.delenv("PAIRWAY_URL")
    monkeypatch.setenv("PROXY_HOST", "0.0.0.0")
    monkeypatch.setenv("PROXY_PORT", port)
    await done(run, "fleet", "list")
    monkeypatch.setenv("PROXY_OPERATOR_PORT", "1")
    assert "http://127.0.0.1:1 " in await refused(run, 3, "fleet", "list")


async def test_token_of_the_run_goes_to_this_machine_only(
    run: Program, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".run").mkdir()
    (tmp_path / ".run" / "operator-token").write_text("not ASCII: é")
    monkeypatch.delenv("PROXY_OPERATOR_TOKEN", raising=False)
    assert "cannot be read" in await refused(run, 2, "fleet", "list", "--url", OTHER)
    assert "cannot be reached" in await refused(run, 3, "fleet", "list", "--url", "http://server.invalid")
