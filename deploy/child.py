"""One process of ours: started in a session of its own, watched, and stopped with everything it started."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

LOG_TAIL_LINES = 20


@dataclass(slots=True)
class Child:
    """A process by name, with its output in ``log``; its own session keeps the terminal's Ctrl-C from it."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    log: Path
    stop_seconds: float
    process: asyncio.subprocess.Process | None = field(default=None, init=False)

    async def start(self) -> None:
        """Start it; raises OSError when the command can not be run. The output of the run before stays as ``….log.1``."""
        if self.log.exists():
            self.log.replace(self.log.with_suffix(".log.1"))
        with self.log.open("wb") as log:
            self.process = await asyncio.create_subprocess_exec(
                *self.command,
                env=self.environment,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    async def wait(self) -> int:
        """Wait for its end and return its exit status; negative is the number of the signal that ended it."""
        return await self.process.wait() if self.process else 0

    async def stop(self) -> None:
        """Ask it to stop, and end it with its whole group after ``stop_seconds``."""
        if self.process is None or self.process.returncode is not None:
            return
        self.process.terminate()
        try:
            await asyncio.wait_for(self.process.wait(), self.stop_seconds)
        except TimeoutError:
            self.kill()
            await self.process.wait()

    def kill(self) -> None:
        """End it and its group at once."""
        if self.process is not None and self.process.returncode is None:
            # It can be gone before its status has reached us.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)

    def describe_end(self) -> str:
        """Say how it ended, with the end of its log."""
        status = self.process.returncode if self.process else None
        how = f"was ended by {signal.Signals(-status).name}" if status and status < 0 else f"exited with {status}"
        lines = self.log.read_text(errors="replace").splitlines()[-LOG_TAIL_LINES:]
        said = "\n".join(f"    {line}" for line in lines) or "    (nothing)"
        return f"{self.name} {how}; the end of {self.log}:\n{said}"
