"""Processes with a mark of the test's own, which all that they start inherits: none is missed at the end."""

from __future__ import annotations

import os
import subprocess
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from shared.runtime.process_guard import end_marked_processes, find_marked_processes
from tests.support.processes import ROOT
from tests.support.waiting import wait_until

MARK = "PAIRWAY_TEST"


@dataclass
class MarkedProcesses:
    """Starts processes that carry this test's mark, as all that they start."""

    output: Path
    value: str = field(default_factory=lambda: uuid.uuid4().hex)
    started: list[subprocess.Popen[bytes]] = field(default_factory=list["subprocess.Popen[bytes]"])

    def start(self, *command: str, environment: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
        """Start a command in the root of the repository, its output added to ``output``."""
        env = {**os.environ, **(environment or {}), MARK: self.value, "PYTHONPATH": str(ROOT)}
        with self.output.open("ab") as output:
            process = subprocess.Popen(
                command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )
        self.started.append(process)
        return process

    def alive(self) -> list[int]:
        """Return the ids of the processes that still run; one is not among them until its exec has ended."""
        return find_marked_processes(MARK, self.value)

    def commands(self) -> list[str]:
        """Return the command lines of the processes that still run."""
        return list(filter(None, map(command_of, self.alive())))

    def said(self) -> str:
        """Return all output so far."""
        return self.output.read_text(errors="replace") if self.output.exists() else ""

    async def wait_for(self, words: str, within: float = 60.0) -> None:
        """Wait until the output holds the words; fails with the output."""
        try:
            await wait_until(lambda: words in self.said(), within)
        except AssertionError:
            raise AssertionError(f"{words!r} not within {within:g} s in:\n{self.said()}") from None

    def end(self) -> None:
        """End what is left."""
        end_marked_processes(MARK, self.value, 0.0)
        for process in self.started:
            process.wait()


def command_of(pid: int) -> str:
    """Return a process's command line; empty if it has just ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""
