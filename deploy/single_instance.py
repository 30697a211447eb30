"""One launcher at a time for a run folder."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

# The guard of a killed launcher gives its servers 15 s, and then needs a moment.
CLEANUP_TIMEOUT_SECONDS = 30.0
LOCK_POLL_SECONDS = 0.1


class AlreadyRunningError(Exception):
    """Someone else uses the run folder; the message names them."""


class SingleInstanceLock:
    """Holds ``run_dir/lock``; the guard of a launcher that was killed holds it on until its servers are gone."""

    def __init__(self, run_dir: Path, say: Callable[[str], None]) -> None:
        """Lock in ``run_dir``; ``say`` gets a sentence when there is a wait."""
        self.path = run_dir / "lock"
        self.say = say
        self.fd = -1

    def __enter__(self) -> Self:
        """Take the lock, after the cleaning of a killed launcher; raises AlreadyRunningError for a living one."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.fd = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            self._lock()
        except BaseException:
            os.close(self.fd)
            raise
        os.ftruncate(self.fd, 0)
        os.pwrite(self.fd, f"{os.getpid()}\n".encode(), 0)
        return self

    def __exit__(self, *_: object) -> None:
        """Let go."""
        os.close(self.fd)

    def _lock(self) -> None:
        """Lock, or raise."""
        give_up_at = time.monotonic() + CLEANUP_TIMEOUT_SECONDS
        said_so = False
        while True:
            try:
                fcntl.flock(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                owner = os.pread(self.fd, 20, 0).decode().strip()
            else:
                return
            if is_alive(owner):
                raise AlreadyRunningError(
                    f"another launcher (process {owner}) runs in {self.path.parent}: stop it with Ctrl-C or "
                    f"`kill {owner}`, or give this one a folder and ports of its own (--run-dir, --port)"
                )
            if time.monotonic() > give_up_at:
                raise AlreadyRunningError(
                    f"{self.path} is still locked {CLEANUP_TIMEOUT_SECONDS:.0f} s after its launcher died; "
                    f"`fuser {self.path}` names the process that holds it"
                )
            if not said_so:
                said_so = True
                self.say("the last run was killed: waiting until its processes are gone")
            time.sleep(LOCK_POLL_SECONDS)


def is_alive(pid: str) -> bool:
    """Say whether a process exists and is not a zombie; an empty or foreign text is nobody."""
    if not pid.isdigit():
        return False
    try:
        # "PID (name) STATE …"; the name may hold anything, a closing parenthesis too.
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
