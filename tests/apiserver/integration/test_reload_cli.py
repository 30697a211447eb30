"""``python -m apiserver.changes`` against a running server."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from apiserver.changes.__main__ import ModelsClient, main
from shared.runtime.exit_codes import EXIT_CONFIG
from tests.apiserver.integration.operated_server import CATALOG, MIB, RENAMED, TOKEN, WITHIN, Operated
from tests.support.processes import free_port


@pytest.fixture(autouse=True)
def environment(operated: Operated, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the program the environment of its server."""
    monkeypatch.setenv("APISERVER_PORT", str(operated.served.port))
    monkeypatch.setenv("APISERVER_OPERATOR_TOKEN", TOKEN)
    monkeypatch.setattr("apiserver.changes.__main__.LOOK_SECONDS", 0.02)


async def run(*arguments: str) -> int:
    return await asyncio.to_thread(main, arguments)


async def test_reload_prints_its_steps(operated: Operated, capsys: pytest.CaptureFixture[str]) -> None:
    operated.catalog.write_text(RENAMED)
    assert await run("list") == 0
    printed = capsys.readouterr().out
    assert "on disk: en-de-v2 is new\non disk: en-de is gone\n" in printed
    assert await run("reload") == 0
    assert "en-de -> en-de-v2: switched (loading " in capsys.readouterr().out
    assert await operated.model_of() == "en-de-v2"
    operated.catalog.write_text(CATALOG)
    assert await run("reload") == 0
    assert await run("list") == 0
    printed = capsys.readouterr().out
    assert "en-de  serving  revision " in printed
    assert "  en-de  ready" in printed
    assert "en-de-v2 -> en-de: switched" in printed
    assert "on disk" not in printed
    assert await operated.model_of() == "en-de"


async def test_failed_reload_ends_with_1(operated: Operated, capsys: pytest.CaptureFixture[str]) -> None:
    operated.catalog.write_text(RENAMED)
    operated.factory.failures["en-de-v2"] = [OSError("no such weights")]
    assert await run("reload") == 1
    assert "no such weights" in capsys.readouterr().out


async def test_cancel_ends_the_reload_that_runs(operated: Operated, capsys: pytest.CaptureFixture[str]) -> None:
    operated.catalog.write_text(RENAMED)
    operated.factory.gates["en-de-v2"] = asyncio.Event()
    reload = asyncio.create_task(run("reload"))
    await operated.until_step("loading")
    assert await run("reload", "--cancel") == 0
    assert await reload == 1
    assert "cancelled" in capsys.readouterr().out
    assert await run("reload", "--cancel") == 1
    assert "No reload runs" in capsys.readouterr().err


async def test_another_operators_reload_is_not_taken_for_its_own(
    operated: Operated, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    loop, call = asyncio.get_running_loop(), ModelsClient.call

    async def roll_back() -> None:
        await operated.ended()
        assert (await operated.reload(CATALOG)).status_code == 202
        assert (await operated.ended())["outcome"] == "done"

    def call_and_pause(
        client: ModelsClient, method: str, path: str, body: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        answer = call(client, method, path, body)
        if method == "POST":  # another operator is faster than this one's next look
            asyncio.run_coroutine_threadsafe(roll_back(), loop).result(2 * WITHIN)
        return answer

    monkeypatch.setattr(ModelsClient, "call", call_and_pause)
    operated.catalog.write_text(RENAMED)
    assert await run("reload") == 1
    assert "the reload ended unseen" in capsys.readouterr().err


async def test_reload_of_two_models_follows_both(operated: Operated, capsys: pytest.CaptureFixture[str]) -> None:
    operated.catalog.write_text(CATALOG.replace("max_num_seqs: 4", "max_num_seqs: 5"))
    assert await run("reload") == 0
    assert "en-fr -> en-fr: switched" in capsys.readouterr().out
    assert operated.factory.starts == ["en-de", "en-fr", "en-de", "en-fr"]


async def test_refused_order_ends_with_1_and_its_reason(operated: Operated, capsys: pytest.CaptureFixture[str]) -> None:
    operated.catalog.write_text(RENAMED)
    operated.memory.available = 300 * MIB
    assert await run("reload") == 1
    assert "change-refused: en-de-v2 needs" in capsys.readouterr().err
    assert await run("reload", "--swap") == 0
    operated.catalog.write_text(RENAMED.replace(RENAMED.strip().splitlines()[2], ""))
    assert await run("reload") == 1
    assert "no longer has en-fr" in capsys.readouterr().err
    assert await run("reload", "--remove") == 0
    assert "en-fr: removed" in capsys.readouterr().out


async def test_reload_without_a_difference_changes_nothing(
    operated: Operated, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await run("reload") == 0
    assert "no model differs" in capsys.readouterr().out
    assert await run("reload", "--cancel", "--swap") == 1
    assert "without --swap and --remove" in capsys.readouterr().err
    operated.catalog.write_text("models: 3")
    assert await run("list") == 0
    assert "on disk: " in capsys.readouterr().out


async def test_wrong_setting_or_no_server_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("APISERVER_PORT", str(free_port()))
    assert await run("list") == 1
    assert "no answer of an API server at 127.0.0.1:" in capsys.readouterr().err
    monkeypatch.setenv("APISERVER_PROT", "1")
    assert await run("list") == EXIT_CONFIG
    assert "APISERVER_PORT" in capsys.readouterr().err
