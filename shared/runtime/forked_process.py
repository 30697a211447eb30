"""Forked processes, and the client of the fork server that makes them."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Final

from shared.runtime.fork_server import CONNECTION, FRAME_BYTES, MARKS, NO_MARK, UP
from shared.runtime.process_guard import KEEP_ENVIRONMENT

# Imports on a cold machine under load.
UP_SECONDS: Final = 180.0
# A fork takes milliseconds; a server that needs longer hangs.
FORK_SECONDS: Final = 15.0
# A dead process's exit status comes from the server, unless that hangs or has died.
STATUS_SECONDS: Final = 0.5
STOP_SECONDS: Final = 3.0
UNKNOWN_STATUS: Final = 255
# After so many in a row no server is started any more: its imports take seconds each time.
MAX_FAILURES: Final = 2
GO: Final = b"+"


class ForkServerError(Exception):
    """No fork was made, and none will be."""


@contextlib.contextmanager
def forking_errors() -> Generator[None]:
    """Raise ForkServerError where this machine lacks what forks need."""
    try:
        yield
    except AttributeError as error:  # a Python built without memfd_create
        raise ForkServerError(f"this Python cannot fork servers: {error}") from error
    except OSError as error:
        raise ForkServerError(f"the fork server cannot be used: {error}") from error


class ForkedProcess:
    """A forked process, no child of this one; called like ``subprocess.Popen``."""

    def __init__(self, pid: int, alive: int, status: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self.sentinel = alive  # readable once the process has ended
        self._status = status
        self._lock = Lock()

    def poll(self) -> int | None:
        """Return the exit status, negative for a signal; None while it runs."""
        with self._lock:
            if self.returncode is None and _is_readable(self.sentinel, 0):
                frame = os.read(self._status, FRAME_BYTES) if _is_readable(self._status, STATUS_SECONDS) else b""
                self.returncode = int(frame[1:]) if frame else UNKNOWN_STATUS
            return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit status; raises subprocess.TimeoutExpired."""
        _is_readable(self.sentinel, timeout)
        status = self.poll()
        if status is None:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0.0)
        return status

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the process has ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        """Send SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.send_signal(signal.SIGKILL)

    def __del__(self) -> None:
        os.close(self.sentinel)
        os.close(self._status)


@dataclass
class ForkServer:
    """A fork server, started again when needed after its death; thread-safe.

    ``command`` gets the number of its connection's descriptor as last argument. ``errors`` is where its output goes; None:
    where this process's goes.
    """

    command: Sequence[str]
    environment: Mapping[str, str]
    errors: Path | None = None
    fork_seconds: float = FORK_SECONDS
    _connection: socket.socket | None = field(default=None, init=False)
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False)
    _is_up: bool = field(default=False, init=False)
    _is_stopped: bool = field(default=False, init=False)
    _failures: int = field(default=0, init=False)
    _lock: Lock = field(default_factory=Lock, init=False)

    @property
    def is_stopped(self) -> bool:
        """Whether it was ended for good."""
        return self._is_stopped

    def inherit(self) -> bool:
        """Use the server that forked this process, if one did."""
        descriptor = os.environ.pop(CONNECTION, None)
        if descriptor is None:
            return False
        self._connection, self._is_up = socket.socket(fileno=int(descriptor)), True
        self._connection.settimeout(self.fork_seconds)
        return True

    def start(self) -> None:
        """Start the process, whose imports take seconds; raises ForkServerError."""
        with self._lock, forking_errors():
            self._start()

    def wait_until_up(self) -> None:
        """Start it unless it runs; wait for its imports; raises ForkServerError."""
        with self._lock, forking_errors():
            self._wait_until_up()

    def stop(self) -> None:
        """End the server for good, whoever waits for it; forks go on."""
        self._is_stopped = True
        if (process := self._process) is not None:
            process.kill()
        with self._lock:
            self._end()

    def fork(
        self, module: str, environment: Mapping[str, str], streams: Sequence[int], *, new_session: bool = False
    ) -> ForkedProcess:
        """Run a module as ``python -m`` does, with these standard streams.

        Raises ForkServerError; then the caller starts it by exec.
        """
        request = {"module": module, "environment": dict(environment), "path": sys.path, "new_session": new_session}
        with self._lock, forking_errors(), contextlib.ExitStack() as opened:
            connection = self._wait_until_up()
            text = opened.enter_context(os.fdopen(os.memfd_create("fork"), "wb", buffering=0))
            text.write(json.dumps(request).encode())
            (go, go_end), (alive, alive_end), (status, status_end) = os.pipe(), os.pipe(), os.pipe()
            opened.callback(os.close, go_end)
            process = ForkedProcess(0, alive, status)
            try:
                socket.send_fds(connection, [GO], [text.fileno(), go, alive_end, status_end, *streams])
            except OSError as error:
                raise self._lost(str(error)) from error
            finally:
                for file in (go, alive_end, status_end):
                    os.close(file)
            frame = os.read(status, FRAME_BYTES) if _is_readable(status, self.fork_seconds) else b""
            if frame.startswith(b"r"):
                raise ForkServerError("the process wants other variables at exec than the fork server has")
            if not frame.startswith(b"p"):
                raise self._lost("it did not fork")
            self._failures = 0
            process.pid = int(frame[1:])
            # Its marks are in place: who looks for them after our death finds it.
            os.write(go_end, GO)
        return process

    def _wait_until_up(self) -> socket.socket:
        # After its first word the server says nothing, so that something to read is its end.
        if self._connection is not None and self._is_up and _is_readable(self._connection.fileno(), 0):
            self._end()
        connection = self._connection or self._start()
        if not self._is_up:
            try:
                connection.settimeout(UP_SECONDS)
                self._is_up = connection.recv(len(UP)) == UP
                connection.settimeout(self.fork_seconds)
            except OSError as error:
                raise self._lost(str(error)) from error
            if not self._is_up:
                raise self._lost("its imports failed")
        return connection

    def _start(self) -> socket.socket:
        self._end()
        if self._is_stopped:
            raise ForkServerError("the fork server was stopped")
        if self._failures >= MAX_FAILURES:
            raise ForkServerError("the fork server failed too often")
        marks = {**dict.fromkeys(MARKS, NO_MARK), **KEEP_ENVIRONMENT}
        connection, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, contextlib.ExitStack() as opened:
            try:
                errors = None if self.errors is None else opened.enter_context(self.errors.open("ab"))
                self._process = subprocess.Popen(  # noqa: S603 - the caller's constant
                    [*self.command, str(theirs.fileno())],
                    env={**marks, **self.environment},
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=errors,
                    stderr=errors,
                    start_new_session=True,
                )
            except OSError:
                connection.close()
                raise
        self._connection, self._is_up = connection, False
        if self._is_stopped:  # meanwhile
            raise self._lost("it was stopped")
        return connection

    def _lost(self, why: str) -> ForkServerError:
        """End a server that failed, so that it forks nothing later."""
        self._failures += 1
        self._end()
        return ForkServerError(f"the fork server has ended: {why}")

    def _end(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._process is not None:
            self._process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(STOP_SECONDS)
            self._process = None


def _is_readable(file: int, seconds: float | None) -> bool:
    """Wait for data or a pipe's end; None: without a bound."""
    poll = select.poll()
    poll.register(file, select.POLLIN)
    return bool(poll.poll(None if seconds is None else seconds * 1000))
