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

from shared.runtime.forked_process import ForkedProcess, ForkServer, ForkServerError
from shared.runtime.process_guard import end_marked_processes

LOG_TAIL_LINES = 20
# More than the longest lines need.
LOG_TAIL_BYTES = 65_536
# All runs of a server write to one log, so that quick restarts do not erase the first cause; before a restart a larger
# log becomes `.log.1`.
MAX_LOG_BYTES = 50_000_000
# Names a server in the environment of all that it starts.
SERVER_MARK = "PAIRWAY_SERVER"
# From SIGTERM to SIGKILL for what a dead server leaves behind. The guard of an API server is quicker.
LEFTOVER_GRACE_SECONDS = 3.0
POLL_SECONDS = 0.1
# An API server stops its engine first, and vLLM gives an EngineCore 5 s.
STOP_SECONDS = 15.0


class ManagedProcess:
    """A process with its output in ``log``.

    Its own session keeps Ctrl-C away. ``environment`` is added to the environment of this process. With a ``fork_server``
    a command ``python -m module`` becomes a fork, in milliseconds.
    """

    def __init__(
        self,
        command: Sequence[str],
        log: Path,
        environment: Mapping[str, str] | None = None,
        *,
        folder: Path | None = None,
        stop_seconds: float = STOP_SECONDS,
        fork_server: ForkServer | None = None,
    ) -> None:
        self.command = list(command)
        self.log = log
        self.process: subprocess.Popen[bytes] | ForkedProcess | None = None
        self._fork_server = fork_server
        self._mark = os.urandom(8).hex()
        self._environment = {**os.environ, **(environment or {}), SERVER_MARK: self._mark}
        self._folder = folder
        self._stop_seconds = stop_seconds

    def start(self) -> None:
        """Start the process, and append its output to the log; takes seconds if its fork server starts again.

        Raises:
            OSError: the command cannot be run.
        """
        self.process = None
        with self.log.open("ab") as log:
            if self._fork_server is not None:
                try:
                    self.process = self._fork(self._fork_server, log.fileno())
                except ForkServerError as error:
                    if self._fork_server.is_stopped:
                        raise OSError("the launcher stops") from error
                    log.write(f"--- launcher: {error}; the server imports by itself\n".encode())
                else:
                    return
            self.process = subprocess.Popen(
                self.command,
                cwd=self._folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _fork(self, server: ForkServer, log: int) -> ForkedProcess:
        nothing = os.open(os.devnull, os.O_RDONLY)
        try:
            return server.fork(self.command[-1], self._environment, [nothing, log, log], new_session=True)
        finally:
            os.close(nothing)

    def start_again(self) -> None:
        """Start the process after its end; a line in the log divides the runs.

        Raises:
            OSError: the command cannot be run.
        """
        if self.log.exists() and self.log.stat().st_size > MAX_LOG_BYTES:
            rotate_log(self.log)
        with self.log.open("a") as log:
            log.write(f"--- launcher: the server {self.end}; it is started again\n")
        self.start()

    async def wait(self) -> int | None:
        """Wait for the end; return the exit status, negative for a signal.

        None if the process was not started.
        """
        if self.process is None:
            return None
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

    def end_leftovers(self) -> None:
        """End what the dead process left behind; takes at most 13 s."""
        end_marked_processes(SERVER_MARK, self._mark, LEFTOVER_GRACE_SECONDS)

    def tail(self, lines: int = LOG_TAIL_LINES) -> str:
        """Return the last lines of the output."""
        with self.log.open("rb") as log:
            log.seek(max(0, self.log.stat().st_size - LOG_TAIL_BYTES))
            return "\n".join(log.read().decode(errors="replace").splitlines()[-lines:])

    @property
    def end(self) -> str:
        """How the process ended, as a verb phrase."""
        status = self.process.returncode if self.process else None
        if status is None:
            return "could not be started"
        return f"was ended by {signal.Signals(-status).name}" if status < 0 else f"exited with {status}"

    def describe_end(self) -> str:
        """Return how the process ended, with the last lines of its log."""
        output = textwrap.indent(self.tail() or "(nothing)", "    ")
        return f"{self.end}; the end of {self.log}:\n{output}"


def rotate_log(log: Path) -> None:
    """Rename a log to ``….log.1``."""
    if log.exists():
        log.replace(log.with_suffix(".log.1"))
