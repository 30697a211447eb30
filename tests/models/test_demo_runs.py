"""Runs of the three demo models in the background: their commands, their start and their stop."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from models import demo_runs
from models.demo_runs import running, start, stop
from tests.support.waiting import wait_until

SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "phrasebook"
    folder.mkdir()
    for name in ("phrasebook", "everyday"):
        (folder / f"{name}.tsv").write_text("Hello\tHallo\tBonjour\tHola\n", encoding="utf-8")
    return tmp_path


def signal_of(pid: int) -> int:
    """Return the signal that ended a child."""
    return os.WTERMSIG(os.waitpid(pid, 0)[1])


def command(data: Path, *more: str) -> list[str]:
    files = ["--data", str(data), "--init", "weights", "--out", str(data / "out")]
    return demo_runs.run_command(demo_runs.parse(["start", *files, *more]), "de")


def test_first_run_begins_with_weights(data: Path) -> None:
    assert {"--init", "weights/en-de", f"de={data}/parallel/en-de.tsv"} <= set(command(data))
    assert (data / "out" / "phrases.de.tsv").read_text(encoding="utf-8").startswith("Hello\tHallo\tphrasebook\n")


def test_later_run_resumes(data: Path) -> None:
    command(data)
    checkpoint = data / "out" / "en-de.checkpoint"
    checkpoint.touch()
    later = command(data, "--decay", "20")
    assert later[later.index("--resume") + 1] == str(checkpoint)
    assert later[-2:] == ["--decay", "20"]
    assert "--init" not in later


async def test_run_is_known_until_it_is_stopped(tmp_path: Path) -> None:
    assert running(tmp_path, "de") is None
    pid = start([*SLEEP, str(tmp_path / "en-de")], tmp_path, "de")
    await wait_until(lambda: running(tmp_path, "de") == pid, within=30)
    stop(tmp_path)
    assert running(tmp_path, "de") is None
    assert signal_of(pid) == signal.SIGTERM


def test_other_process_of_that_id_is_no_run(tmp_path: Path) -> None:
    demo_runs.pid_file(tmp_path, "de").write_text("1", encoding="utf-8")
    assert running(tmp_path, "de") is None


def test_start_without_data_is_refused() -> None:
    with pytest.raises(SystemExit, match="start needs --data and --init"):
        demo_runs.main(["start"])
