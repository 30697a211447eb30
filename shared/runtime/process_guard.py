"""Guard process: ends its owner's descendants, however the owner ended.

A variable in a process's environment at exec marks it (docs/decisions/0002-engine-processes.md).
Run as a script, this file is the guard. It imports little, to keep the guard small.
"""

from __future__ import annotations

import os
import signal
import sys
import time

# Empty scans before the guard ends: between fork and exec a process has no mark.
EMPTY_SCANS = 3
SCAN_INTERVAL_SECONDS = 0.05
# The guard gives up then: only the kernel keeps the process (a disk or GPU does not respond).
AFTER_KILL_SECONDS = 10.0
# Blocked in the guard: a signal of the owner's terminal must not end it.
BLOCKED_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# Keeps setproctitle (in vLLM's EngineCore) from overwriting the mark.
KEEP_ENVIRONMENT = {"SPT_NOENV": "1"}
GUARD_READY = b"up"
# The guard's number for ``held_fd``.
HELD_FD = 3


class ProcessGuard:
    """Context manager that ends processes started in its block.

    When the block or the owner ends, they get SIGTERM, and SIGKILL ``grace_seconds`` later (0: SIGKILL at once). Until
    then the guard holds ``held_fd`` open: a lock on it shows that processes may be left. Raises OSError if the guard
    does not start.
    """

    def __init__(self, name: str, grace_seconds: float, *, held_fd: int | None = None) -> None:
        self.name = name
        self.value = os.urandom(8).hex()
        self.grace_seconds = grace_seconds
        self.held_fd = held_fd
        self._saved_environment: dict[str, str | None] = {}
        self._guard_pid = 0
        self._lifeline: int | None = None

    def __enter__(self) -> ProcessGuard:  # noqa: PYI034 - importing typing would cost the guard memory
        guard_end, self._lifeline = os.pipe()
        answer, answer_end = os.pipe()
        files: list[tuple[int, ...] | tuple[int, int, str, int, int]] = [
            (os.POSIX_SPAWN_DUP2, guard_end, 0),
            (os.POSIX_SPAWN_DUP2, answer_end, 1),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
            # Last: the descriptors above may have this number.
            (os.POSIX_SPAWN_DUP2, 2 if self.held_fd is None else self.held_fd, HELD_FD),
        ]
        # -I -S: no imports from the user's folder or site-packages.
        command = [sys.executable, "-I", "-S", __file__, self.name, self.value, str(self.grace_seconds)]
        try:
            self._guard_pid = os.posix_spawn(
                sys.executable,
                command,
                # No marks of any name: this guard must survive the guard of an outer block.
                {key: os.environ[key] for key in ("LD_LIBRARY_PATH",) if key in os.environ},
                file_actions=files,
                setsid=True,
                setsigmask=BLOCKED_SIGNALS,
            )
        except OSError:
            os.close(self._lifeline)
            os.close(answer)
            raise
        finally:
            os.close(guard_end)
            os.close(answer_end)
        # A forked child with the lifeline would hide the owner's death.
        os.register_at_fork(after_in_child=self._drop_lifeline)
        with open(answer, "rb") as guard_output:  # noqa: PTH123 - a descriptor, not a path
            if guard_output.read() != GUARD_READY:
                self._drop_lifeline()
                raise OSError(f"the guard of {self.name} did not start: {' '.join(command)}")
        marks = {**KEEP_ENVIRONMENT, self.name: self.value}
        self._saved_environment = {name: os.environ.get(name) for name in marks}
        os.environ.update(marks)
        return self

    def __exit__(self, *_: object) -> None:
        for name, value in self._saved_environment.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        self._drop_lifeline()
        give_up = time.monotonic() + self.grace_seconds + AFTER_KILL_SECONDS
        while os.waitpid(self._guard_pid, os.WNOHANG) == (0, 0) and time.monotonic() < give_up:
            time.sleep(SCAN_INTERVAL_SECONDS)

    def _drop_lifeline(self) -> None:
        if self._lifeline is not None:
            os.close(self._lifeline)
            self._lifeline = None


def find_marked_processes(name: str, value: str) -> list[int]:
    """Return the ids of this user's processes with this mark, except zombies."""
    mark = f"\0{name}={value}\0".encode()
    pids: list[int] = []
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit():
            continue
        try:
            with open(f"/proc/{entry.name}/environ", "rb") as environ:  # noqa: PTH123 - pathlib would double the memory
                if mark in b"\0" + environ.read() and entry.stat().st_uid == os.getuid():
                    pids.append(int(entry.name))
        except OSError:
            # It ended meanwhile, or belongs to someone else.
            continue
    return pids


def end_marked_processes(name: str, value: str, grace_seconds: float) -> None:
    """End marked processes; SIGCONT wakes stopped ones for their SIGTERM."""
    kill_at = time.monotonic() + grace_seconds
    terminated: set[int] = set()
    empty_scans = 0
    while empty_scans < EMPTY_SCANS and time.monotonic() < kill_at + AFTER_KILL_SECONDS:
        pids = find_marked_processes(name, value)
        empty_scans = 0 if pids else empty_scans + 1
        for pid in pids:
            if time.monotonic() >= kill_at:
                _send(pid, signal.SIGKILL)
            elif pid not in terminated:
                terminated.add(pid)
                _send(pid, signal.SIGTERM)
                _send(pid, signal.SIGCONT)
        time.sleep(SCAN_INTERVAL_SECONDS)


def _send(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def guard_until_eof(name: str, value: str, grace_seconds: float) -> None:
    """Wait until stdin ends, then end the marked processes."""
    os.closerange(HELD_FD + 1, os.sysconf("SC_OPEN_MAX"))
    os.write(1, GUARD_READY)
    os.dup2(2, 1)
    while os.read(0, 1):
        pass
    end_marked_processes(name, value, grace_seconds)


if __name__ == "__main__":
    guard_until_eof(sys.argv[1], sys.argv[2], float(sys.argv[3]))
