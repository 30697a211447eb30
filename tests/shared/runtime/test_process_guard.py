"""The guard, with real processes: whatever ends the owner, what it started ends too."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from shared.runtime.process_guard import ProcessGuard, find_marked_processes
from tests.support.marked_processes import MarkedProcesses
from tests.support.processes import free_port, redis_server
from tests.support.waiting import wait_until

NAME = "PAIRWAY_REAPER_TEST"
# An owner that starts a child that starts a grandchild, and says when all are there.
OWNER = """
import os, subprocess, sys, time
from shared.runtime.process_guard import ProcessGuard
with ProcessGuard({name!r}, {grace}):
    subprocess.Popen([sys.executable, "-c", {child!r}])
    {then}
"""
CHILD = """
import signal, subprocess, sys, time
{first}
subprocess.Popen([sys.executable, "-c", '''{first}
import signal, time
print("grandchild is up", flush=True)
time.sleep(600)
'''])
time.sleep(600)
"""
IGNORE = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)"


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[MarkedProcesses]:
    """Processes that are gone after the test."""
    marked = MarkedProcesses(tmp_path / "output")
    yield marked
    marked.end()


async def start_family(
    processes: MarkedProcesses, *, grace: float = 0.0, first: str = "", then: str = "time.sleep(600)"
) -> subprocess.Popen[bytes]:
    """Start owner, child and grandchild; return the owner when all three run."""
    child = CHILD.format(first=first)
    owner = processes.start(sys.executable, "-c", OWNER.format(name=NAME, grace=grace, child=child, then=then))
    await processes.wait_for("grandchild is up")
    return owner


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
async def test_guard_ends_children_with_their_owner(processes: MarkedProcesses, number: signal.Signals) -> None:
    """Whatever signal ends the owner, child and grandchild are gone within 2 s."""
    owner = await start_family(processes)
    assert len(processes.alive()) == 3
    owner.send_signal(number)
    owner.wait()
    await wait_until(lambda: not processes.alive(), within=2.0)


async def test_guard_ends_stopped_children(processes: MarkedProcesses) -> None:
    """SIGSTOP protects neither from SIGTERM nor from SIGKILL."""
    for grace in (0.0, 30.0):
        owner = await start_family(processes, grace=grace)
        for pid in processes.alive():
            if pid != owner.pid:
                os.kill(pid, signal.SIGSTOP)
        owner.kill()
        owner.wait()
        await wait_until(lambda: not processes.alive(), within=2.0)
        processes.output.unlink()


async def test_guard_kills_after_the_grace(processes: MarkedProcesses) -> None:
    """Between SIGTERM and SIGKILL lies the grace."""
    owner = await start_family(processes, grace=1.0, first=IGNORE)
    killed = time.monotonic()
    owner.kill()
    owner.wait()
    await wait_until(lambda: not processes.alive(), within=4.0)
    assert time.monotonic() - killed > 0.5


async def test_guard_ends_children_when_the_owner_exits(processes: MarkedProcesses, tmp_path: Path) -> None:
    """A normal end of the block cleans, and waits until that is done."""
    let_go = tmp_path / "let go"
    owner = await start_family(processes, then=f"while not os.path.exists({str(let_go)!r}): time.sleep(0.01)")
    let_go.touch()
    assert owner.wait(timeout=60) == 0
    assert not processes.alive()


async def test_forked_child_does_not_hide_the_owner_death(processes: MarkedProcesses) -> None:
    """A fork without exec holds no end of the guard's pipe."""
    owner = await start_family(processes, then="os.fork() and time.sleep(600); time.sleep(600)")
    await wait_until(lambda: len(processes.alive()) == 4, within=10)
    owner.kill()
    owner.wait()
    # The forked one stays, as documented: its environment is that of the owner's exec.
    await wait_until(lambda: len(processes.alive()) == 1, within=2.0)


async def test_process_with_its_own_title_is_found(processes: MarkedProcesses) -> None:
    """vLLM's EngineCore calls itself so; by default that overwrites the environment that /proc shows."""
    title = "import setproctitle, time; setproctitle.setproctitle('EngineCore' * 100); print('titled', flush=True)"
    with ProcessGuard(NAME, 0.0):
        titled = processes.start(sys.executable, "-c", f"{title}; time.sleep(600)")
        await processes.wait_for("titled")
    assert titled.wait(timeout=5) == -signal.SIGKILL


async def test_redis_of_the_tests_is_found(tmp_path: Path) -> None:
    """By default it writes its title over its environment, once it is up."""
    with ProcessGuard(NAME, 0.0):
        redis = redis_server(free_port(), tmp_path)
        redis.start()
        await wait_until(lambda: "eady to accept connections" in redis.tail(), within=10)
    assert redis.process is not None
    assert redis.process.wait(timeout=5) == -signal.SIGKILL


async def test_guard_leaves_unmarked_processes_alone(processes: MarkedProcesses) -> None:
    """What was started outside the block is not marked, and neither is the guard."""
    before = processes.start("sleep", "600")
    with ProcessGuard(NAME, 0.0) as guard:
        assert os.environ[NAME] == guard.value
        assert find_marked_processes(NAME, guard.value) == []
        inside = processes.start("sleep", "600")
        await wait_until(lambda: find_marked_processes(NAME, guard.value) == [inside.pid], within=10)
    assert NAME not in os.environ
    assert inside.wait(timeout=5) == -signal.SIGKILL
    assert before.poll() is None


async def test_guards_nest(processes: MarkedProcesses) -> None:
    """An inner block of the same name cleans its own, and gives the outer mark back."""
    with ProcessGuard(NAME, 0.0) as outer:
        first = processes.start("sleep", "600")
        with ProcessGuard(NAME, 0.0) as inner:
            second = processes.start("sleep", "600")
            await wait_until(lambda: find_marked_processes(NAME, inner.value) == [second.pid], within=10)
        assert os.environ[NAME] == outer.value
        assert second.wait(timeout=5) == -signal.SIGKILL
        assert find_marked_processes(NAME, outer.value) == [first.pid]
    assert first.wait(timeout=5) == -signal.SIGKILL


def test_guard_that_cannot_start_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    """No silent life without a guard."""
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(OSError, match="did not start"), ProcessGuard(NAME, 0.0):
        pass
    assert NAME not in os.environ
