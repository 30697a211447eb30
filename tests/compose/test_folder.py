"""The programs of the compose rows, and the operator's folder that they run in."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from tests.compose.checkout import VERSIONED, change_sources, command_environment, copied_checkout, write_settings
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


def test_settings_of_the_shell_stay_out() -> None:
    shell = {
        "PATH": "/bin",
        "DOCKER_HOST": "unix:///d",
        "PROXY_KEYS": "on",
        "PAIRWAY_DE_MODELS": "x",
        "COMPOSE_FILE": "y",
    }
    expected = {"PATH": "/bin", "DOCKER_HOST": "unix:///d", "COMPOSE_PROJECT_NAME": "project"}
    assert command_environment("project", shell) == expected
    assert command_environment("project", {"PAIRWAY_WHEELS": "/wheels"})["PAIRWAY_WHEELS"] == "/wheels"


def test_copy_is_a_whole_checkout_of_its_own(tmp_path: Path) -> None:
    folder = copied_checkout(tmp_path / "copy")
    assert (folder / "docker-compose.yml").exists()
    assert not (folder / ".git").exists()
    # As many new versions as there are builds, and none of them here.
    original = Path(VERSIONED).read_text()
    change_sources(folder, "second")
    assert (folder / VERSIONED).read_text() == f"{original.rstrip()}\n# second\n"
    assert Path(VERSIONED).read_text() == original


def copied_sources(dockerfile: Path) -> list[str]:
    """Return what the file's ``COPY`` lines take from the build's context."""
    lines = [line.split()[1:] for line in dockerfile.read_text().splitlines() if line.startswith("COPY ")]
    return [source for line in lines if not line[0].startswith("--from=") for source in line[:-1]]


def test_every_source_of_the_images_is_in_the_copy(tmp_path: Path) -> None:
    folder = copied_checkout(tmp_path / "copy")
    sources = {source for path in Path("deploy").glob("*.Dockerfile") for source in copied_sources(path)}
    assert {"web", "proxy", "apiserver", "shared"} <= sources
    assert [source for source in sorted(sources) if not (folder / source).exists()] == []


def test_write_settings_replaces_all_lines(tmp_path: Path) -> None:
    write_settings(tmp_path, {"PROXY_KEYS": "on", "PAIRWAY_PROXIES": "2"})
    write_settings(tmp_path, {"PAIRWAY_PROXIES": "1"})
    assert (tmp_path / ".env").read_text() == "PAIRWAY_PROXIES=1\n"
