"""A managed process: its log, its end, and what stopping does to its group."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from deploy.process import ManagedProcess
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
