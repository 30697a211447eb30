"""A run's folder: one launcher at a time, and the private files that others read."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

# The guard of a killed launcher gives its servers 15 s, and needs a moment more.
CLEANUP_TIMEOUT_SECONDS = 30.0
LOCK_POLL_SECONDS = 0.1
# URL of the run's Redis, and its tokens.
REDIS_URL = "redis-url"
# `pairway` reads it (client/pairway/command/operator_access.py).
OPERATOR_TOKEN = "operator-token"  # noqa: S105 - a file's name
# Prometheus reads these two (deploy/prometheus_server.py).
OBSERVER_TOKEN = "observer-token"  # noqa: S105
APISERVER_TOKEN = "apiserver-token"  # noqa: S105


class AlreadyRunningError(Exception):
    """Another process uses the run folder; the message names it."""


class SingleInstanceLock:
    """Lock on ``run_dir/lock``; ``say`` gets a sentence if there is a wait.

    After a launcher was killed, its guard holds the lock until the servers have ended.
    """

    def __init__(self, run_dir: Path, say: Callable[[str], None]) -> None:
        self.path = run_dir / "lock"
        self.say = say
        self.fd = -1

    def __enter__(self) -> Self:
        """Take the lock; wait for the cleanup of a killed launcher.

        Raises:
            AlreadyRunningError: another launcher runs, or the cleanup took too long.
        """
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
        """Release the lock."""
        os.close(self.fd)

    def _lock(self) -> None:
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
                    f"`kill {owner}`, or give this one another folder and other ports: "
                    f"`make up RUN_DIR={self.path.parent}/second PORT=…`"
                )
            if time.monotonic() > give_up_at:
                raise AlreadyRunningError(
                    f"{self.path} is still locked {CLEANUP_TIMEOUT_SECONDS:.0f} s after its launcher died; "
                    f"`fuser {self.path}` names the process that holds it"
                )
            if not said_so:
                said_so = True
                self.say("the last run was killed: waiting until its processes have ended")
            time.sleep(LOCK_POLL_SECONDS)


def is_alive(pid: str) -> bool:
    """Return whether ``pid`` is a process and no zombie."""
    if not pid.isdigit():
        return False
    try:
        # "PID (name) STATE …"; the name may contain any character, even a closing parenthesis.
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def write(folder: Path, name: str, content: str) -> None:
    """Write a file that only its owner reads: a new one, because an old one keeps its mode."""
    file = folder / name
    file.unlink(missing_ok=True)
    file.touch(mode=0o600, exist_ok=False)
    file.write_text(content)


def remove_all(folder: Path) -> None:
    """Remove what leads nowhere after the run."""
    for name in (REDIS_URL, OPERATOR_TOKEN, OBSERVER_TOKEN, APISERVER_TOKEN):
        (folder / name).unlink(missing_ok=True)
