"""A managed process: its log, its end, and what stopping does to its group."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from deploy.process import LOG_TAIL_BYTES, MAX_LOG_BYTES, ManagedProcess
from deploy.run_folder import is_alive
from shared.runtime.process_guard import find_marked_processes
from tests.support.waiting import wait_until

MARK = "PAIRWAY_PROCESS_TEST"
# Ignores SIGTERM, and has a child that does too.
STUBBORN = """
import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if len(sys.argv) < 2:
    subprocess.Popen([sys.executable, __file__, "child"])
print("ready", flush=True)
time.sleep(600)
"""


async def test_wait_returns_the_exit_status(tmp_path: Path) -> None:
    process = ManagedProcess([sys.executable, "-c", "print('words'); raise SystemExit(3)"], tmp_path / "log")
    process.start()
    async with asyncio.timeout(30):
        assert await process.wait() == 3
        assert await process.wait() == 3, "also when it has been waited for"
    assert process.tail() == "words"
    assert process.describe_end() == f"exited with 3; the end of {tmp_path / 'log'}:\n    words"


async def test_wait_sees_a_signal(tmp_path: Path) -> None:
    process = ManagedProcess(["sleep", "600"], tmp_path / "log")
    process.start()
    waiting = asyncio.create_task(process.wait())
    await asyncio.sleep(0)
    process.kill_group()
    async with asyncio.timeout(30):
        assert await waiting == -signal.SIGKILL
    assert process.describe_end() == f"was ended by SIGKILL; the end of {tmp_path / 'log'}:\n    (nothing)"


async def test_stop_kills_the_whole_group_after_its_time(tmp_path: Path) -> None:
    program = tmp_path / "stubborn.py"
    program.write_text(STUBBORN)
    value = os.urandom(8).hex()
    process = ManagedProcess([sys.executable, str(program)], tmp_path / "log", {MARK: value}, stop_seconds=0.1)
    process.start()
    await wait_until(lambda: process.tail().count("ready") == 2, 30, "parent and child")
    assert len(find_marked_processes(MARK, value)) == 2
    await asyncio.to_thread(process.stop)
    await wait_until(lambda: not find_marked_processes(MARK, value), 10, "none is left")


def test_stop_before_the_start_does_nothing(tmp_path: Path) -> None:
    ManagedProcess(["true"], tmp_path / "log").stop()


async def test_start_again_divides_the_runs_in_one_log(tmp_path: Path) -> None:
    """Many quick ends do not erase the first cause."""
    process = ManagedProcess([sys.executable, "-c", "raise SystemExit('no memory')"], tmp_path / "log")
    process.start()
    async with asyncio.timeout(60):
        for _ in range(3):
            assert await process.wait() == 1
            process.start_again()
        assert await process.wait() == 1
    assert process.log.read_text() == "--- launcher: the server exited with 1; it is started again\n".join(
        ["no memory\n"] * 4
    )
    assert not (tmp_path / "log.log.1").exists()


async def test_start_again_rotates_a_large_log(tmp_path: Path) -> None:
    process = ManagedProcess(["true"], tmp_path / "server.log")
    process.start()
    async with asyncio.timeout(60):
        await process.wait()
        with process.log.open("wb") as log:
            log.truncate(MAX_LOG_BYTES + 1)
        process.start_again()
        await process.wait()
    assert process.log.read_text() == "--- launcher: the server exited with 0; it is started again\n"
    assert (tmp_path / "server.log.1").stat().st_size == MAX_LOG_BYTES + 1


async def test_failed_start_has_no_status(tmp_path: Path) -> None:
    """Also not that of the run before."""
    process = ManagedProcess(["true"], tmp_path / "log")
    process.start()
    async with asyncio.timeout(60):
        await process.wait()
        process.command = [str(tmp_path / "missing")]
        with pytest.raises(OSError, match="missing"):
            process.start_again()
        assert await process.wait() is None
    assert process.end == "could not be started"


async def test_end_leftovers_spares_other_servers(tmp_path: Path) -> None:
    child = "import time; print('has its mark', flush=True); time.sleep(600)"
    parent = (
        f"import subprocess, sys; child = subprocess.Popen([sys.executable, '-c', {child!r}], stdout=subprocess.PIPE); "
        "child.stdout.readline(); print(child.pid)"
    )
    first, second = (ManagedProcess([sys.executable, "-c", parent], tmp_path / name) for name in ("first", "second"))
    first.start()
    second.start()
    async with asyncio.timeout(60):
        await asyncio.gather(first.wait(), second.wait())
    await asyncio.to_thread(first.end_leftovers)
    assert not is_alive(first.tail())
    assert is_alive(second.tail())
    await asyncio.to_thread(second.end_leftovers)
    assert not is_alive(second.tail())


def test_tail_reads_only_the_end_of_a_large_log(tmp_path: Path) -> None:
    process = ManagedProcess(["true"], tmp_path / "log")
    with process.log.open("w") as log:
        log.write("first\n" * LOG_TAIL_BYTES + "last\n")
    assert process.tail(1) == "last"
    assert len(process.tail(LOG_TAIL_BYTES)) <= LOG_TAIL_BYTES
