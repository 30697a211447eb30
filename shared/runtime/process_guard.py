"""Guard process: ends what its owner started, however the owner itself ended.

A child is found by a variable in its environment as it was at its exec: neither the owner nor a child forked without an
exec (nothing here does that) is marked, and a program that writes its title over its environment loses the mark.
Run as a script, this file is the guard; it imports little, because a guard sleeps in memory as long as its owner lives.
"""

from __future__ import annotations

import os
import signal
import sys
import time

# Scans in a row that find nothing before the guard ends: between fork and exec a process is not marked yet.
EMPTY_SCANS = 3
SCAN_INTERVAL_SECONDS = 0.05
# After SIGKILL only the kernel can keep a process (a disk or a GPU that does not answer): then the guard gives up.
AFTER_KILL_SECONDS = 10.0
# Blocked in the guard from its first instruction: what ends the owner's terminal must not end the guard.
BLOCKED_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# Makes the setproctitle package (vLLM's EngineCore) leave the environment of a process readable.
KEEP_ENVIRONMENT = {"SPT_NOENV": "1"}
GUARD_READY = b"up"
# Where the guard finds the descriptor that it holds open for its owner.
HELD_FD = 3


class ProcessGuard:
    """Marks every process started in the block by the variable ``name``; ends those left when the block or its owner ends.

    They get SIGTERM and ``grace_seconds`` later SIGKILL (0: SIGKILL at once). ``held_fd`` stays open in the guard until
    it is done: a lock on it says how long the cleaning lasts. Raises OSError when the guard can not be started.
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
        # -I and -S: nothing of the user's or of site-packages is imported.
        command = [sys.executable, "-I", "-S", __file__, self.name, self.value, str(self.grace_seconds)]
        try:
            self._guard_pid = os.posix_spawn(
                sys.executable,
                command,
                # Unmarked, for this name and any other: a guard must survive the cleaning of the guard above it.
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
        # A child that is only forked would hold the lifeline and so hide the owner's death from the guard.
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
    """Return the ids of this user's processes whose environment at their exec held ``name=value``; zombies have none."""
    mark = f"\0{name}={value}\0".encode()
    pids: list[int] = []
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit():
            continue
        try:
            with open(f"/proc/{entry.name}/environ", "rb") as environ:  # noqa: PTH123 - pathlib would double the guard
                if mark in b"\0" + environ.read() and entry.stat().st_uid == os.getuid():
                    pids.append(int(entry.name))
        except OSError:
            # It ended meanwhile, or belongs to someone else.
            continue
    return pids


def end_marked_processes(name: str, value: str, grace_seconds: float) -> None:
    """End every marked process: SIGTERM (a stopped one is woken for it), after the grace SIGKILL, until none is left."""
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
    """Wait until the owner's end of stdin closes, then end the marked processes."""
    os.closerange(HELD_FD + 1, os.sysconf("SC_OPEN_MAX"))
    os.write(1, GUARD_READY)
    os.dup2(2, 1)
    while os.read(0, 1):
        pass
    end_marked_processes(name, value, grace_seconds)


if __name__ == "__main__":
    guard_until_eof(sys.argv[1], sys.argv[2], float(sys.argv[3]))
