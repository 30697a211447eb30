"""Programs of the compose rows: record, failures, and an end without children."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from tests.compose.commands import CommandFailedError, CommandRunner
from tests.support.waiting import wait_until

WITHIN = 60.0


@pytest.fixture
def runner(tmp_path: Path) -> CommandRunner:
    return CommandRunner(tmp_path, os.environ, tmp_path / "commands.log")


async def test_run_returns_both_streams_and_records_them(runner: CommandRunner, tmp_path: Path) -> None:
    result = await runner.run("sh", "-c", "pwd; echo wrong >&2", within=WITHIN)
    assert result.status == 0
    assert result.output == f"{tmp_path}\nwrong\n"
    assert "wrong" in (tmp_path / "commands.log").read_text()


async def test_run_raises_for_a_failure_that_is_checked(runner: CommandRunner) -> None:
    with pytest.raises(CommandFailedError, match="exit status 3\nbecause"):
        await runner.run("sh", "-c", "echo because; exit 3", within=WITHIN)
    assert (await runner.run("sh", "-c", "exit 3", within=WITHIN, check=False)).status == 3


@pytest.mark.parametrize("ending", ["time", "cancel"])
async def test_run_leaves_no_child_behind(runner: CommandRunner, tmp_path: Path, ending: str) -> None:
    pid_file = tmp_path / "pid"
    within = 1.0 if ending == "time" else WITHIN
    task = asyncio.create_task(runner.run("sh", "-c", "sleep 600 & echo $! >pid; wait", within=within))
    pid = int(await wait_until(lambda: pid_file.exists() and pid_file.read_text(), WITHIN))
    if ending == "cancel":
        task.cancel()
    with pytest.raises(CommandFailedError if ending == "time" else asyncio.CancelledError):
        await task
    await wait_until(lambda: not _runs(pid), WITHIN, "the child has ended")


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except FileNotFoundError:
        return False
