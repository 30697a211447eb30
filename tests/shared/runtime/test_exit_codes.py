"""Exit codes of a process that a signal stops."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from tests.support.processes import ROOT

PROGRAM = """
import time
from shared.runtime.exit_codes import exit_on_signals
exit_on_signals()
print("ready", flush=True)
for _ in range(6000):  # a signal just before one long sleep would be handled after it
    time.sleep(0.01)
"""


HANGUP_PROGRAM = """
import asyncio
from shared.runtime.exit_codes import reload_on_hangup

async def main():
    reloaded = asyncio.Event()
    reload_on_hangup(reloaded.set)
    print("ready", flush=True)
    await asyncio.wait_for(reloaded.wait(), 60)
    print("reloaded", flush=True)

asyncio.run(main())
"""


def test_hangup_reloads_on_the_event_loop() -> None:
    with subprocess.Popen([sys.executable, "-c", HANGUP_PROGRAM], cwd=ROOT, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGHUP)
        assert process.stdout.readline() == b"reloaded\n"
        assert process.wait(30) == 0


def test_hangup_without_a_loop_is_nothing() -> None:
    program = "import os, signal\nfrom shared.runtime.exit_codes import reload_on_hangup\nreload_on_hangup(print)\n"
    program += "os.kill(os.getpid(), signal.SIGHUP)\n"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, b"")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_exits_with_0(number: signal.Signals) -> None:
    with subprocess.Popen([sys.executable, "-c", PROGRAM], cwd=ROOT, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(number)
        assert process.wait(10) == 0
