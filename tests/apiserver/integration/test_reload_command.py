"""``pairway models`` against a running API server."""

from __future__ import annotations

import asyncio
import json
import time
from types import SimpleNamespace

import pytest

from tests.apiserver.integration.operated_server import CATALOG, MIB, RENAMED, TOKEN, WITHIN, Operated
from tests.client.pairway.command.command_line import Ended, Program
from tests.support.processes import free_port


@pytest.fixture(name="program")
def _program(operated: Operated, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Program:
    """Return the command in the environment of its server."""
    monkeypatch.setenv("APISERVER_PORT", str(operated.served.port))
    monkeypatch.setenv("APISERVER_OPERATOR_TOKEN", TOKEN)
    monkeypatch.setattr("pairway.command.models.LOOK_SECONDS", 0.02)
    return Program(monkeypatch, capsys)


async def models(program: Program, *arguments: str) -> Ended:
    return await asyncio.to_thread(program, "models", *arguments)


async def test_reload_prints_its_steps(operated: Operated, program: Program) -> None:
    operated.catalog.write_text(RENAMED)
    ended = await models(program, "list")
    assert ended.code == 0
    assert "on disk: en-de-v2 is new\non disk: en-de is gone\n" in ended.out
    ended = await models(program, "reload")
    assert ended.code == 0
    assert "en-de -> en-de-v2: switched (loading " in ended.out
    assert await operated.model_of() == "en-de-v2"
    operated.catalog.write_text(CATALOG)
    assert (await models(program, "reload")).code == 0
    ended = await models(program, "list")
    assert ended.code == 0
    rows = [line.split() for line in ended.out.splitlines()]
    assert next(row for row in rows if row[:2] == ["en-de", "serving"])[-2:] == ["en-de", "de-en"]
    assert "last reload: done\nen-de-v2 -> en-de: switched" in ended.out
    assert "on disk" not in ended.out
    assert await operated.model_of() == "en-de"
    found = json.loads((await models(program, "list", "--json")).out)
    assert found["replica"].endswith(f":{operated.served.port}")
    assert {each["name"] for each in found["models"]} == {"en-de", "en-fr"}


async def test_failed_reload_ends_with_1_and_asks_no_other_server(operated: Operated, program: Program) -> None:
    operated.catalog.write_text(RENAMED)
    operated.factory.failures["en-de-v2"] = [OSError("no such weights")]
    here, nowhere = (f"http://127.0.0.1:{port}" for port in (operated.served.port, free_port()))
    ended = await models(program, "reload", "--replica", here, "--replica", nowhere)
    assert ended.code == 1
    assert "no such weights" in ended.out
    assert nowhere not in ended.out + ended.err


async def test_servers_are_reloaded_one_after_the_other(operated: Operated, program: Program) -> None:
    operated.catalog.write_text(RENAMED)
    port = operated.served.port
    urls = f"http://127.0.0.1:{port}", f"http://localhost:{port}"
    ended = await models(program, "reload", "--replica", urls[0], "--replica", urls[1])
    assert ended.code == 0, ended.err
    first, second = ended.out.split(f"{urls[1]}:\n")
    assert first.startswith(f"{urls[0]}:\n")
    assert "switched" in first
    assert second.startswith("no model differs")


async def test_cancelled_reload_ends_with_1(operated: Operated, program: Program) -> None:
    operated.catalog.write_text(RENAMED)
    operated.factory.gates["en-de-v2"] = asyncio.Event()
    reload = asyncio.create_task(models(program, "reload"))
    await operated.until_step("loading")
    assert (await operated.cancel()).status_code == 202
    ended = await reload
    assert ended.code == 1
    assert "cancelled" in ended.out


async def test_cancel_ends_the_reload_that_runs(operated: Operated, program: Program) -> None:
    operated.factory.gates["en-de-v2"] = asyncio.Event()
    assert (await operated.reload(RENAMED)).status_code == 202
    await operated.until_step("loading")
    assert (await models(program, "reload", "--cancel")).code == 0
    ended = await models(program, "reload", "--cancel")
    assert ended.code == 4
    assert "No reload runs" in ended.err


async def test_another_operators_reload_is_not_taken_for_its_own(
    operated: Operated, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = asyncio.get_running_loop()

    async def roll_back() -> None:
        await operated.ended()
        assert (await operated.reload(CATALOG)).status_code == 202
        assert (await operated.ended())["outcome"] == "done"

    def sleep(_: float) -> None:  # another operator is faster than this one's next look
        asyncio.run_coroutine_threadsafe(roll_back(), loop).result(2 * WITHIN)

    monkeypatch.setattr("pairway.command.models.time", SimpleNamespace(sleep=sleep, monotonic=time.monotonic))
    operated.catalog.write_text(RENAMED)
    ended = await models(program, "reload")
    assert ended.code == 1
    assert "The reload ended unseen" in ended.err


async def test_reload_that_never_ends_is_given_up(
    operated: Operated, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    operated.factory.gates["en-de-v2"] = asyncio.Event()
    operated.catalog.write_text(RENAMED)
    monkeypatch.setattr("pairway.command.models.MAX_WAIT_SECONDS", 0.0)
    ended = await models(program, "reload")
    assert ended.code == 1
    assert "has not ended" in ended.err
    await operated.cancel()


async def test_reload_of_two_models_follows_both(operated: Operated, program: Program) -> None:
    operated.catalog.write_text(CATALOG.replace("max_num_seqs: 4", "max_num_seqs: 5"))
    ended = await models(program, "reload")
    assert ended.code == 0
    assert "en-fr -> en-fr: switched" in ended.out
    assert operated.factory.starts == ["en-de", "en-fr", "en-de", "en-fr"]


async def test_refused_order_ends_with_4_and_its_reason(operated: Operated, program: Program) -> None:
    operated.catalog.write_text(RENAMED)
    operated.memory.available = 300 * MIB
    ended = await models(program, "reload")
    assert ended.code == 4
    assert "change-refused: en-de-v2 needs" in ended.err
    assert (await models(program, "reload", "--swap")).code == 0
    operated.catalog.write_text(RENAMED.replace(RENAMED.strip().splitlines()[2], ""))
    ended = await models(program, "reload")
    assert ended.code == 4
    assert "no longer has en-fr" in ended.err
    ended = await models(program, "reload", "--remove")
    assert ended.code == 0
    assert "en-fr: removed" in ended.out


async def test_reload_without_a_difference_changes_nothing(operated: Operated, program: Program) -> None:
    ended = await models(program, "reload")
    assert ended.code == 0
    assert "no model differs" in ended.out
    ended = await models(program, "reload", "--cancel", "--swap")
    assert ended.code == 2
    assert "without --swap and --remove" in ended.err
    operated.catalog.write_text("models: 3")
    ended = await models(program, "list")
    assert ended.code == 0
    assert "on disk: " in ended.out


async def test_absent_server_is_said(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APISERVER_PORT", str(free_port()))
    ended = await models(program, "list")
    assert ended.code == 3
    assert "--replica" in ended.err


async def test_wrong_token_is_said(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APISERVER_OPERATOR_TOKEN", "another-token-of-an-operator")
    ended = await models(program, "list")
    assert ended.code == 4
    assert "APISERVER_OPERATOR_TOKEN" in ended.err
