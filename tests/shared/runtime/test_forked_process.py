"""Forks of a fork server: what they get, how their ends are seen, and that a death at any stage leaves none."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from shared.runtime import fork_server
from shared.runtime.fork_server import MARKS
from shared.runtime.forked_process import MAX_FAILURES, UNKNOWN_STATUS, ForkedProcess, ForkServer, ForkServerError
from shared.runtime.process_guard import end_marked_processes, find_marked_processes
from tests.support.marked_processes import MARK
from tests.support.processes import ROOT
from tests.support.waiting import wait_until

SCRIPT = (sys.executable, "-P", fork_server.__file__)
PROGRAM = "import {imports}\nif __name__ == '__main__':\n    {action}\n"


class Site:
    """A fork server, a folder of modules, and all processes of the test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.value = os.urandom(8).hex()
        # numpy would have a thread for each core.
        self.environment = {**os.environ, MARK: self.value, "PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"}
        self.server = self.new_server()

    def new_server(self, *libraries: str) -> ForkServer:
        """Return a fork server that imports these; its output is in ``errors``."""
        return ForkServer((*SCRIPT, *libraries), self.environment, self.folder / "errors", fork_seconds=60.0)

    def write(self, name: str, action: str, imports: str = "os, sys, time, random") -> None:
        """Write a module."""
        (self.folder / f"{name}.py").write_text(PROGRAM.format(imports=imports, action=action))

    def fork(self, name: str, environment: Mapping[str, str] | None = None, *, session: bool = False) -> ForkedProcess:
        """Run a module whose output is added to ``output``."""
        with (self.folder / "output").open("ab") as output, Path(os.devnull).open("rb") as nothing:
            streams = [nothing.fileno(), output.fileno(), output.fileno()]
            return self.server.fork(name, environment or {}, streams, new_session=session)

    def said(self) -> str:
        """Return the output so far."""
        return (self.folder / "output").read_text()

    def alive(self) -> list[int]:
        """Return all processes of the test, the fork server among them."""
        return find_marked_processes(MARK, self.value)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A site whose processes are gone after the test."""
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    site = Site(tmp_path)
    yield site
    site.server.stop()
    end_marked_processes(MARK, site.value, 0.0)


def test_fork_runs_a_module_as_python_m_does(site: Site) -> None:
    """With its own environment, streams and session; exit statuses and signals are seen."""
    site.write("hello", "print(sys.argv[0], os.environ['NAME'], os.getsid(0) == os.getpid()); sys.exit(7)")
    assert site.fork("hello", {"NAME": "words"}, session=True).wait(60) == 7
    assert site.said() == f"{site.folder / 'hello.py'} words True\n"
    site.write("sleeper", "time.sleep(600)")
    sleeper = site.fork("sleeper")
    assert sleeper.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        sleeper.wait(0.01)
    sleeper.terminate()
    assert sleeper.wait(60) == sleeper.poll() == -signal.SIGTERM
    site.write("wrong", "raise ValueError('no such thing')")
    assert site.fork("wrong").wait(60) == 1
    assert "ValueError: no such thing" in site.said()


def test_fork_runs_what_is_on_disk(site: Site) -> None:
    """A change between two forks counts, because the server imports libraries alone."""
    for word in ("first", "the second"):
        site.write("module", f"print({word!r})")
        assert site.fork("module").wait(60) == 0
    assert site.said() == "first\nthe second\n"


def test_forks_do_not_share_secrets(site: Site) -> None:
    """Random numbers and multiprocessing's key are their own; no setting is the server's."""
    site.server = site.new_server("random", "numpy", "multiprocessing.process")
    action = "print(random.random(), numpy.random.random(), bytes(multiprocessing.current_process().authkey).hex(), sorted(os.environ))"
    site.write("draw", action, "os, random, numpy, multiprocessing")
    for _ in range(2):
        assert site.fork("draw", {"TOKEN": "one"}).wait(60) == 0
    first, second = (line.split(" ", 2) for line in site.said().splitlines())
    assert first[0] != second[0]
    assert first[1] != second[1]
    assert first[2].split()[0] != second[2].split()[0]
    assert MARK not in site.said()


def test_forks_marks_are_found(site: Site) -> None:
    """As those of an exec are, and only those of the fork itself."""
    site.write("sleeper", "time.sleep(600)")
    values = [os.urandom(8).hex() for _ in range(2)]
    forks = [site.fork("sleeper", {MARKS[0]: value}) for value in values]
    for fork, value in zip(forks, values, strict=True):
        assert find_marked_processes(MARKS[0], value) == [fork.pid]
        assert fork.pid in site.alive()


def test_fork_with_other_variables_at_exec_is_refused(site: Site) -> None:
    """Its libraries would not see them; the server serves on, also those that want less than it has."""
    site.environment["LD_LIBRARY_PATH"] = "/no/first:/no/second"
    site.write("hello", "print(os.environ.get('OMP_NUM_THREADS'), os.environ.get('LD_LIBRARY_PATH'))")
    for name, value in {"OMP_NUM_THREADS": "97", "LD_LIBRARY_PATH": "/no/third:/no/first"}.items():
        with pytest.raises(ForkServerError, match="at exec"):
            site.fork("hello", {name: value})
        assert f"{name}='{value}'" in (site.folder / "errors").read_text()
    for environment in ({}, {"OMP_NUM_THREADS": "", "LD_LIBRARY_PATH": "/no/second"}):
        assert site.fork("hello", environment).wait(60) == 0
    assert site.said() == "1 /no/first:/no/second\n" * 2


@pytest.mark.parametrize(
    ("library", "words"),
    [
        ("no_such_library", "No module named 'no_such_library'"),
        ("with_thread", "2 threads after the imports"),
    ],
)
def test_server_that_cannot_fork_safely_says_why(site: Site, library: str, words: str) -> None:
    """The caller starts the module by exec then."""
    (site.folder / "with_thread.py").write_text(
        "import threading, time\nthreading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n"
    )
    site.server = site.new_server(library)
    with pytest.raises(ForkServerError, match="its imports failed"):
        site.fork("hello")
    assert words in (site.folder / "errors").read_text()


def test_killed_server_leaves_its_forks_running(site: Site) -> None:
    """Their ends are still seen, and the next fork starts another server."""
    site.write("sleeper", "time.sleep(600)")
    first = site.fork("sleeper")
    (server,) = set(site.alive()) - {first.pid}
    os.kill(server, signal.SIGKILL)
    os.waitid(os.P_PID, server, os.WEXITED | os.WNOWAIT)  # its files are closed then
    second = site.fork("sleeper")
    assert first.poll() is None
    first.kill()
    assert first.wait(60) == UNKNOWN_STATUS
    second.kill()
    assert second.wait(60) == -signal.SIGKILL


def test_hanging_server_is_replaced(site: Site) -> None:
    """What it was asked for is not forked later."""
    site.write("hello", "print('forked')")
    assert site.fork("hello").wait(60) == 0
    (server,) = site.alive()
    os.kill(server, signal.SIGSTOP)
    site.server.fork_seconds = 0.5
    with pytest.raises(ForkServerError):
        site.fork("hello")
    site.server.fork_seconds = 60.0
    assert site.fork("hello").wait(60) == 0
    assert site.said() == "forked\n" * 2


def test_server_that_fails_again_and_again_is_given_up(site: Site) -> None:
    """Each start would cost seconds of imports."""
    site.server = site.new_server("no_such_library")
    for _ in range(MAX_FAILURES):
        with pytest.raises(ForkServerError, match="imports failed"):
            site.server.wait_until_up()
    with pytest.raises(ForkServerError, match="too often"):
        site.server.wait_until_up()


def test_python_without_files_in_memory_forks_nothing(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some builds lack them; servers start by exec there."""
    site.write("quiet", "pass")
    monkeypatch.delattr(os, "memfd_create")
    with pytest.raises(ForkServerError, match="memfd_create"):
        site.fork("quiet")


def test_place_of_output_that_is_missing_is_an_error(site: Site) -> None:
    site.server = ForkServer(SCRIPT, site.environment, site.folder / "missing" / "errors")
    with pytest.raises(ForkServerError, match="missing"):
        site.server.start()


def test_stop_ends_a_wait_for_imports(site: Site) -> None:
    """And no fork is made afterwards."""
    (site.folder / "endless.py").write_text("import time\ntime.sleep(600)\n")
    site.server = site.new_server("endless")
    site.server.start()
    site.server.stop()
    with pytest.raises(ForkServerError):
        site.server.wait_until_up()
    assert site.alive() == []


# Forks one process after another; killed at a random moment.
CLIENT = """
import os, sys, time
from shared.runtime.forked_process import ForkServer
from tests.shared.runtime.test_forked_process import SCRIPT
server = ForkServer(SCRIPT, os.environ)
for _ in range(50):
    server.fork("sleeper", {"PAIRWAY_SERVER": sys.argv[1]}, [0, 1, 2])
    print("forked", flush=True)
time.sleep(600)
"""


def start_client(site: Site, value: str) -> subprocess.Popen[bytes]:
    """Start a client that forks one process after another, all with this mark."""
    environment = {**site.environment, "PYTHONPATH": f"{site.folder}:{ROOT}"}
    command = [sys.executable, "-c", CLIENT, value]
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)


@pytest.mark.parametrize("round_", range(5))
async def test_client_killed_at_any_moment_leaves_no_unmarked_fork(site: Site, round_: int) -> None:
    """A fork whose client dies before its marks are in place ends; any other is found by them."""
    site.write("sleeper", "time.sleep(600)")
    value = os.urandom(8).hex()
    client = start_client(site, value)
    assert client.stdout is not None
    for _ in range(1 + round_):
        client.stdout.readline()
    client.kill()
    client.wait()
    client.stdout.close()

    def only_marked() -> bool:
        return set(site.alive()) == set(find_marked_processes(MARKS[0], value))

    await wait_until(only_marked, 60, "the server has ended, and every fork has its mark")
