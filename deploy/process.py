"""A child process in its own session, with a log file."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

LOG_TAIL_LINES = 20
POLL_SECONDS = 0.1
# An API server stops its engine first, and vLLM gives an EngineCore 5 s.
STOP_SECONDS = 15.0


class ManagedProcess:
    """A process with its output in ``log``.

    Its own session keeps Ctrl-C away. ``environment`` is added to the environment of this process.
    """

    def __init__(
        self,
        command: Sequence[str],
        log: Path,
        environment: Mapping[str, str] | None = None,
        *,
        folder: Path | None = None,
        stop_seconds: float = STOP_SECONDS,
    ) -> None:
        self.command = list(command)
        self.log = log
        self.process: subprocess.Popen[bytes] | None = None
        self._environment = {**os.environ, **(environment or {})}
        self._folder = folder
        self._stop_seconds = stop_seconds

    def start(self) -> None:
        """Start the process, and append its output to the log.

        Raises:
            OSError: the command cannot be run.
        """
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command,
                cwd=self._folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    async def wait(self) -> int:
        """Wait for the end; return the exit status, negative for a signal."""
        if self.process is None:
            return 0
        while self.process.poll() is None:  # noqa: ASYNC110 - a pidfd would need Linux 5.3
            await asyncio.sleep(POLL_SECONDS)
        return self.process.wait()

    def stop(self) -> None:
        """Terminate the process, even if suspended; kill its group if it remains."""
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        try:
            self.process.wait(self._stop_seconds)
        except subprocess.TimeoutExpired:
            self.kill_group()
            self.process.wait()

    def kill_group(self) -> None:
        """Kill the process and its group, without waiting."""
        if self.process is not None and self.process.poll() is None:
            # It may have ended before its status arrived.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)

    def tail(self, lines: int = LOG_TAIL_LINES) -> str:
        """Return the last lines of the output."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def describe_end(self) -> str:
        """Return how the process ended, with the last lines of its log."""
        status = self.process.returncode if self.process else None
        end = f"was ended by {signal.Signals(-status).name}" if status and status < 0 else f"exited with {status}"
        output = textwrap.indent(self.tail() or "(nothing)", "    ")
        return f"{end}; the end of {self.log}:\n{output}"
