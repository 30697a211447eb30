"""Fork server: a process that has imported libraries runs modules in forks.

Run as a script, this file is the server. It imports none of our packages, so a fork runs what is on disk
(docs/decisions/0041-fork-server.md).
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import random
import runpy
import selectors
import signal
import socket
import sys
from dataclasses import dataclass, field

# A fork's connection to its server: the number of its descriptor.
CONNECTION = "PAIRWAY_FORK_SERVER"
# Marks of forks (shared/runtime/process_guard.py). The server has others or zeros, which its forks overwrite in memory.
MARKS = ("PAIRWAY_SERVER", "PAIRWAY_APISERVER")
NO_MARK = "0" * 16
# Libraries read these at exec: a fork that wants what the server has not is refused, else it gets the server's.
EXEC_VARIABLES = ("LD_PRELOAD", "LD_LIBRARY_PATH", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "GOMP_CPU_AFFINITY")
# Keeps setproctitle from overwriting the marks.
KEEP_ENVIRONMENT = {"SPT_NOENV": "1"}
TITLE = "python fork_server.py"
# What the server says once all is imported.
UP = b"up"
# Of a request: its text, go, alive, status, stdin, stdout, stderr.
REQUEST_DESCRIPTORS = 7
# A letter and a number: "p" and the process id, "c" and the exit status; "r": refused.
FRAME_BYTES = 16


@dataclass
class Fork:
    """Descriptors that a fork was given."""

    text: int
    go: int
    alive: int
    status: int
    streams: list[int]
    connection: socket.socket


@dataclass
class Server:
    """Server of the process that started it, and of its forks; single-threaded."""

    owner: socket.socket
    selector: selectors.BaseSelector = field(default_factory=selectors.DefaultSelector)
    clients: list[socket.socket] = field(default_factory=list[socket.socket])
    # Where each fork's exit status is written.
    statuses: dict[int, int] = field(default_factory=dict[int, int])
    wake: tuple[int, int] = field(default_factory=os.pipe)

    def serve(self) -> Fork | None:
        """Serve until the owner ends (None); in a fork return its descriptors."""
        self.selector.register(self.owner, selectors.EVENT_READ)
        self.selector.register(self.wake[0], selectors.EVENT_READ)
        for end in self.wake:
            os.set_blocking(end, False)
        signal.signal(signal.SIGCHLD, _ignore)
        signal.set_wakeup_fd(self.wake[1])
        while True:
            for key, _ in self.selector.select():
                if key.fileobj == self.wake[0]:
                    os.read(self.wake[0], 4096)
                    self._report_ends()
                elif isinstance(key.fileobj, socket.socket):
                    data, files = _receive(key.fileobj)
                    if not data and key.fileobj is self.owner:
                        return None
                    if not data:
                        self._forget(key.fileobj)
                    elif fork := self._fork(files):
                        return fork

    def _fork(self, files: list[int]) -> Fork | None:
        """Fork; return its descriptors in the fork, None in the server."""
        if len(files) < REQUEST_DESCRIPTORS:  # this process has too many open files
            for file in files:
                os.close(file)
            return None
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        text, go, alive, status, *streams = files
        pid = os.fork()
        if pid == 0:
            ours.close()
            self._close_in_fork()
            return Fork(text, go, alive, status, streams, theirs)
        theirs.close()
        self.statuses[pid] = status
        self.clients.append(ours)
        self.selector.register(ours, selectors.EVENT_READ)
        for file in (text, go, alive, *streams):
            os.close(file)
        return None

    def _close_in_fork(self) -> None:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self.selector.close()
        for connection in (self.owner, *self.clients):
            connection.close()
        for file in (*self.wake, *self.statuses.values()):
            os.close(file)

    def _report_ends(self) -> None:
        while self.statuses:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            file = self.statuses.pop(pid, None)
            if file is not None:  # else a child of a library
                write_frame(file, "c", os.waitstatus_to_exitcode(status))
                os.close(file)

    def _forget(self, client: socket.socket) -> None:
        self.selector.unregister(client)
        self.clients.remove(client)
        client.close()


def _receive(client: socket.socket) -> tuple[bytes, list[int]]:
    """Return a request and its descriptors; nothing if the client ended."""
    try:
        data, files, _, _ = socket.recv_fds(client, 1, REQUEST_DESCRIPTORS)
    except ConnectionError:
        return b"", []
    for file in files:
        os.set_inheritable(file, False)  # noqa: FBT003 - its only form
    return data, files


def _ignore(_number: int, _frame: object) -> None:
    """Handle SIGCHLD: only its wake-up counts."""


def write_frame(file: int, letter: str, number: int) -> None:
    """Write one frame of a status, unless nobody reads it."""
    try:
        os.write(file, f"{letter}{number:<{FRAME_BYTES - 1}}".encode())
    except BrokenPipeError:
        return


def become(fork: Fork) -> None:
    """Run a module as ``python -m`` does, once the client says go."""
    with os.fdopen(fork.text, "rb") as file:
        # It was written by another process, whose place in the file this one shares.
        file.seek(0)
        request = json.load(file)
    environment: dict[str, str] = request["environment"]
    for name in EXEC_VARIABLES:
        wanted, ours = environment.pop(name, ""), os.environ.get(name, "")
        # Paths are several; the server may have more.
        if not set(wanted.split(":")) - {""} <= set(ours.split(":")):
            sys.stderr.write(f"fork server: {request['module']} wants {name}={wanted!r}, not {ours!r} as at exec\n")
            sys.stderr.flush()
            write_frame(fork.status, "r", 0)
            os._exit(1)
        if ours:
            environment[name] = ours
    for name in MARKS:
        write_mark(name, environment.get(name, NO_MARK))
    if request["new_session"]:
        os.setsid()
    write_frame(fork.status, "p", os.getpid())
    os.close(fork.status)
    # A client that died or gave up before now never says it; one that dies later finds the marks.
    if not os.read(fork.go, 1):
        os._exit(0)
    os.close(fork.go)
    for number, file in enumerate(fork.streams):
        os.dup2(file, number)
        os.close(file)
    os.environ.clear()
    os.environ.update({**environment, **KEEP_ENVIRONMENT})
    os.environ[CONNECTION] = str(fork.connection.detach())
    _renew_secrets()
    sys.path[:] = request["path"]
    sys.argv = [request["module"]]
    _set_title(f"python -m {request['module']}")
    runpy.run_module(request["module"], run_name="__main__", alter_sys=True)


def _renew_secrets() -> None:
    """Draw again what libraries drew at their import."""
    random.seed()
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()
    if "multiprocessing.process" in sys.modules:
        process = sys.modules["multiprocessing.process"].current_process()
        process.authkey = os.urandom(32)


def _set_title(title: str) -> None:
    try:
        setproctitle = importlib.import_module("setproctitle")
    except ImportError:
        return
    setproctitle.setproctitle(title)


def write_mark(name: str, value: str) -> None:
    """Write a mark into this process's environment as others see it.

    Raises ValueError if there is no place for it.
    """
    with open("/proc/self/stat", "rb") as stat:  # noqa: PTH123 - as little as a guard imports
        # Field 50, env_start; the second field may hold spaces.
        start = int(stat.read().rpartition(b")")[2].split()[47])
    with open("/proc/self/environ", "rb") as environ:  # noqa: PTH123
        variables = b"\0" + environ.read()
    before, found, after = variables.partition(f"\0{name}=".encode())
    if not found or after.find(b"\0") != len(value):
        raise ValueError(f"there is no place for the mark {name}")
    with open("/proc/self/mem", "r+b", buffering=0) as memory:  # noqa: PTH123
        memory.seek(start + len(before) + len(found) - 1)
        memory.write(value.encode())


def main() -> None:
    """Import the libraries; serve; run in forks what they were asked for."""
    *libraries, descriptor = sys.argv[1:]
    owner = socket.socket(fileno=int(descriptor))
    owner.set_inheritable(False)
    # Now, because setproctitle finds the place of titles by an environment that has not changed yet.
    _set_title(TITLE)
    for name in libraries:
        importlib.import_module(name)
    threads = len(list(os.scandir("/proc/self/task")))
    if threads > 1:
        sys.exit(f"fork server: {threads} threads after the imports, so a fork is not safe")
    # Else each fork would write it too.
    sys.stdout.flush()
    gc.collect()
    # Collections in forks would write to pages that all share.
    gc.freeze()
    try:
        owner.send(UP)
        fork = Server(owner).serve()
    except BrokenPipeError:
        return
    if fork is not None:
        become(fork)


if __name__ == "__main__":
    main()
