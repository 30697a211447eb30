"""Programs as subprocesses: their output, how long they took, and a record of all."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

# For a program that was told to end.
END_SECONDS = 10.0
TAIL_CHARS = 1500


class CommandFailedError(Exception):
    """A program ended with another exit status than 0, or not in time."""


@dataclass(frozen=True)
class CommandResult:
    """What a program did; ``output`` is stdout and stderr together."""

    command: str
    status: int
    output: str
    seconds: float


class CommandRunner:
    """Runs programs in one folder with one environment; each in a session of its own, so that Ctrl-C reaches only us."""

    def __init__(self, folder: Path, environment: Mapping[str, str], record: Path) -> None:
        self.folder = folder
        self.environment = dict(environment)
        self._record = record

    async def run(self, *command: str, within: float, check: bool = True) -> CommandResult:
        """Run a program; raises CommandFailedError unless it ends with 0 (``check``) within that many seconds."""
        began = time.monotonic()
        process = await self._start(command)
        try:
            async with asyncio.timeout(within):
                output, _ = await process.communicate()
        except TimeoutError:
            raise CommandFailedError(f"{shlex.join(command)}: not within {within:g} s") from None
        finally:
            await _end(process)
        text = output.decode(errors="replace")
        result = CommandResult(shlex.join(command), process.returncode or 0, text, time.monotonic() - began)
        self._write(result)
        if check and result.status:
            raise CommandFailedError(f"{result.command}: exit status {result.status}\n{text[-TAIL_CHARS:]}")
        return result

    async def _start(self, command: Sequence[str]) -> asyncio.subprocess.Process:
        """Start a program; a cancellation meanwhile ends its children too, not the program alone."""
        starting = asyncio.ensure_future(
            asyncio.create_subprocess_exec(
                *command,
                cwd=self.folder,
                env=self.environment,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,
            )
        )
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            await _end(await starting)
            raise

    def _write(self, result: CommandResult) -> None:
        now = time.strftime("%H:%M:%S")
        with self._record.open("a") as file:
            file.write(f"{now} $ {result.command}   # {result.status}, {result.seconds:.1f} s\n{result.output}")


async def _end(process: asyncio.subprocess.Process) -> None:
    """Kill a program that still runs, with its children."""
    if process.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(END_SECONDS):
            await process.wait()
