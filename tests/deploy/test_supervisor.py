"""One supervised server, with real processes that end in every way; and when a dead one starts again."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import sys
import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from deploy.process import MAX_LOG_BYTES, SERVER_MARK, ManagedProcess
from deploy.run_folder import is_alive
from deploy.supervisor import LaunchError, RestartLimits, RestartPolicy, SupervisedServer, Supervisor
from shared.runtime.exit_codes import EXIT_CONFIG
from tests.support.clock import HandClock
from tests.support.processes import free_port
from tests.support.waiting import wait_until

KILLED = -signal.SIGKILL
DEFAULT = RestartLimits()
HEALTHY = DEFAULT.healthy_after
LIMITS = RestartLimits(first_pause=0.01, longest_pause=0.02, healthy_after=3600.0, max_ends=3)
SLEEPS = (sys.executable, "-c", "import time; print('up', flush=True); time.sleep(600)")


@dataclass
class Bench:
    """A supervisor, and what it said."""

    folder: Path
    command: tuple[str, ...] = SLEEPS
    limits: RestartLimits = LIMITS
    port: int = field(default_factory=free_port)
    ready: bool = True
    lines: list[str] = field(default_factory=list[str])
    task: asyncio.Task[None] | None = None

    def __post_init__(self) -> None:
        self.process = ManagedProcess(self.command, self.folder / "server.log")
        server = SupervisedServer(
            "server", self.process, "127.0.0.1", self.port, self.is_ready, "nobody is served meanwhile"
        )
        policy = RestartPolicy(self.limits, time.monotonic)
        self.supervisor = Supervisor(
            server, policy, lambda name, line: self.lines.append(f"{name}: {line}"), time.monotonic
        )

    async def is_ready(self) -> bool:
        return self.ready

    def kill(self) -> None:
        assert self.process.process is not None
        self.process.process.kill()

    def said(self, words: str) -> int:
        return sum(words in line for line in self.lines)

    async def wait_for(self, words: str, count: int = 1) -> None:
        await wait_until(lambda: self.said(words) >= count, 60, f"{words} in {self.lines}")

    def launch(self) -> None:
        """Start and supervise the server."""
        self.process.start()
        self.task = asyncio.create_task(self.supervisor.run())
        self.supervisor.note_launched()

    async def end(self) -> None:
        """Stop everything."""
        if self.task is not None:
            self.task.cancel()
            await asyncio.wait([self.task])
        await asyncio.to_thread(self.process.stop)
        await asyncio.to_thread(self.process.end_leftovers)


BenchFactory = Callable[..., Bench]


@pytest.fixture
async def benches(tmp_path: Path) -> AsyncGenerator[BenchFactory]:
    """Benches in the test's folder, whose processes are gone after the test."""
    started: list[Bench] = []

    def new_bench(command: tuple[str, ...] = SLEEPS, limits: RestartLimits = LIMITS) -> Bench:
        started.append(Bench(tmp_path, command, limits))
        return started[-1]

    yield new_bench
    for bench in started:
        await bench.end()


async def test_end_before_the_launch_is_an_error(benches: BenchFactory) -> None:
    bench = benches((sys.executable, "-c", "print('no memory'); raise SystemExit(3)"))
    bench.process.start()
    with pytest.raises(LaunchError, match=r"server exited with 3(.|\n)*no memory"):
        await bench.supervisor.run()


async def test_dead_server_is_started_again(tmp_path: Path, benches: BenchFactory) -> None:
    bench = benches()
    bench.launch()
    bench.kill()
    await bench.wait_for("ready again")
    assert bench.lines[0] == (
        "server: was ended by SIGKILL: nobody is served meanwhile. Starting it again in 0.01 s "
        f"(end 1 of 3 in a row; output: {tmp_path / 'server.log'})"
    )


async def test_unready_run_is_not_called_ready(benches: BenchFactory) -> None:
    bench = benches()
    bench.ready = False
    bench.launch()
    bench.kill()
    await wait_until(
        lambda: bench.process.log.exists() and re.search(r"--- launcher.*\nup\n", bench.process.log.read_text()), 60
    )
    assert not bench.said("ready again")
    bench.ready = True
    await bench.wait_for("ready again")


async def test_server_that_cannot_be_run_again_stays_down(tmp_path: Path, benches: BenchFactory) -> None:
    """Its program is gone: each try counts as an end."""
    program = tmp_path / "program"
    program.symlink_to("/bin/sleep")
    bench = benches((str(program), "600"))
    bench.launch()
    program.unlink()
    bench.kill()
    await bench.wait_for("could not be started, its end number 3")
    assert bench.said("cannot be started: ") == 2
    program.symlink_to("/bin/sleep")
    bench.supervisor.retry()
    await bench.wait_for("ready again")


async def test_request_before_the_last_end_does_not_count(benches: BenchFactory) -> None:
    bench = benches(limits=RestartLimits(max_ends=1))
    bench.launch()
    bench.supervisor.retry()
    bench.kill()
    await bench.wait_for("stays down")
    assert not bench.said("as asked")
    bench.supervisor.retry()
    await bench.wait_for("as asked")


async def test_leftovers_end_before_the_restart(benches: BenchFactory) -> None:
    """A child that ignores SIGTERM and holds what the server needs."""
    child = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
    parent = (
        "import os, subprocess, sys, time; "
        f"child = subprocess.Popen([sys.executable, '-c', {child!r}]); print(child.pid, flush=True); time.sleep(600)"
    )
    bench = benches((sys.executable, "-c", parent))
    bench.launch()
    await wait_until(lambda: bench.process.tail().isdigit(), 60)
    orphan = bench.process.tail()
    bench.kill()
    await bench.wait_for("ready again")
    assert not is_alive(orphan)


async def test_restart_waits_until_the_port_is_free(benches: BenchFactory) -> None:
    bench = benches()
    with socket.socket() as other:
        other.bind(("127.0.0.1", bench.port))
        other.listen()
        bench.launch()
        bench.kill()
        await bench.wait_for("Starting it again")
        assert not bench.said("ready again")
    await bench.wait_for("ready again")


async def test_large_log_is_rotated_before_a_restart(tmp_path: Path, benches: BenchFactory) -> None:
    bench = benches()
    with bench.process.log.open("wb") as log:
        log.truncate(MAX_LOG_BYTES + 1)
    bench.launch()
    bench.kill()
    await bench.wait_for("ready again")
    assert (tmp_path / "server.log.1").stat().st_size > MAX_LOG_BYTES
    assert bench.process.log.read_text().startswith("--- launcher: the server was ended by SIGKILL")


async def test_cancelled_supervisor_starts_nothing(benches: BenchFactory) -> None:
    bench = benches(limits=RestartLimits(first_pause=600.0))
    bench.launch()
    bench.kill()
    await bench.wait_for("in 600 s")
    await bench.end()
    assert bench.process.process is not None
    assert bench.process.process.returncode == -signal.SIGKILL
    assert SERVER_MARK not in os.environ


def policy_with(clock: HandClock) -> RestartPolicy:
    return RestartPolicy(DEFAULT, clock)


def test_fifth_end_in_a_row_is_final() -> None:
    policy = policy_with(HandClock())
    assert [policy.pause_after_end(KILLED) for _ in range(5)] == [1, 2, 4, 8, None]
    assert policy.ends == 5


@pytest.mark.parametrize("ready", [True, False])
def test_wrong_settings_are_final_at_once(ready: bool) -> None:
    clock = HandClock()
    policy = policy_with(clock)
    if ready:
        policy.note_ready()
        clock.now += 10 * HEALTHY
    assert policy.pause_after_end(EXIT_CONFIG) is None


@pytest.mark.parametrize("status", [0, 1, 3, -signal.SIGTERM, None])
def test_every_other_end_is_followed_by_a_start(status: int | None) -> None:
    assert policy_with(HandClock()).pause_after_end(status) == DEFAULT.first_pause


def test_healthy_run_ends_the_row() -> None:
    clock = HandClock()
    policy = policy_with(clock)
    for _ in range(20):
        assert policy.pause_after_end(KILLED) == 1
        clock.now += 10
        policy.note_ready()
        clock.now += HEALTHY + 1


def test_time_before_readiness_is_not_healthy() -> None:
    """A model that loads for an hour and then dies has not served."""
    clock = HandClock()
    policy = policy_with(clock)
    pauses: list[float | None] = []
    for _ in range(5):
        clock.now += 60 * HEALTHY
        policy.note_ready()
        pauses.append(policy.pause_after_end(KILLED))
    assert pauses[-1] is None


def test_readiness_noted_twice_counts_from_the_first() -> None:
    clock = HandClock()
    policy = policy_with(clock)
    policy.pause_after_end(KILLED)
    policy.note_ready()
    clock.now += HEALTHY + 1
    policy.note_ready()
    assert policy.pause_after_end(KILLED) == 1


def test_readiness_of_an_earlier_run_does_not_count() -> None:
    clock = HandClock()
    policy = policy_with(clock)
    policy.note_ready()
    clock.now += HEALTHY + 1
    assert policy.pause_after_end(KILLED) == 1
    clock.now += HEALTHY + 1
    assert policy.pause_after_end(KILLED) == 2, "that run was never ready"


def test_reset_allows_as_many_ends_again() -> None:
    policy = policy_with(HandClock())
    while policy.pause_after_end(KILLED) is not None:
        pass
    policy.reset()
    assert [policy.pause_after_end(KILLED) for _ in range(5)] == [1, 2, 4, 8, None]
