"""The lock on a run folder: a living launcher refuses, a dead one's guard is waited for."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from deploy.single_instance import AlreadyRunningError, SingleInstanceLock
from tests.support.marked_processes import MarkedProcesses

# Takes the lock as a guard holds it on, until a file is there: the process id in the file is that of a launcher that is
# gone.
HOLD = """
import fcntl, os, sys, time
with open(sys.argv[1], "w") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    print(sys.argv[2], file=lock, flush=True)
    print("holds", flush=True)
    for _ in range(3000):
        if os.path.exists(sys.argv[3]):
            break
        time.sleep(0.01)
"""


async def test_lock_waits_for_a_dead_launcher(tmp_path: Path) -> None:
    """As long as its guard cleans, and the wait is told once."""
    said: list[str] = []
    let_go = tmp_path / "let go"

    def say(words: str) -> None:
        said.append(words)
        let_go.touch()

    gone = MarkedProcesses(tmp_path / "gone").start("true")
    gone.wait()
    holder = MarkedProcesses(tmp_path / "output")
    try:
        holder.start(sys.executable, "-c", HOLD, str(tmp_path / "lock"), str(gone.pid), str(let_go))
        await holder.wait_for("holds")
        with SingleInstanceLock(tmp_path, say):
            assert (tmp_path / "lock").read_text() == f"{os.getpid()}\n"
        assert said == ["the last run was killed: waiting until its processes have ended"]
    finally:
        holder.end()


async def test_lock_takes_a_zombie_for_dead(tmp_path: Path) -> None:
    """A killed launcher that nobody has waited for does not count as a living one."""
    zombie = MarkedProcesses(tmp_path / "gone")
    gone = zombie.start("true")
    holder = MarkedProcesses(tmp_path / "output")
    try:
        holder.start(sys.executable, "-c", HOLD, str(tmp_path / "lock"), str(gone.pid), str(tmp_path / "let go"))
        await holder.wait_for("holds")
        with SingleInstanceLock(tmp_path, lambda _: (tmp_path / "let go").touch()):
            pass
    finally:
        holder.end()
        zombie.end()


def test_lock_of_a_running_launcher_is_refused(tmp_path: Path) -> None:
    """The error names it."""
    with (
        SingleInstanceLock(tmp_path, print),
        pytest.raises(AlreadyRunningError, match=f"process {os.getpid()}"),
        SingleInstanceLock(tmp_path, print),
    ):
        pass
