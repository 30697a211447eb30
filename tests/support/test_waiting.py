"""The clock of the tests' bounds: a pause counts for little, what is waited for or computed counts whole."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time

import pytest

from tests.support.processes import ROOT
from tests.support.waiting import Awake, wait_until


async def test_time_passes_and_a_wait_in_vain_ends() -> None:
    began = time.monotonic()
    async with asyncio.timeout(20):
        with Awake() as awake:
            await wait_until(lambda: awake.seconds >= 0.2, 1)
        with pytest.raises(AssertionError, match=r"not within 0\.1 s: nothing; last value: 0"):
            await wait_until(lambda: 0, 0.1, "nothing")
    assert time.monotonic() - began >= 0.3


# Tells when it is awake, waits for a line, tells how long it was.
SLEEPER = """
import sys
from tests.support.waiting import Awake
with Awake() as awake:
    print("awake", flush=True)
    sys.stdin.readline()
    print(awake.seconds, flush=True)
"""


def test_a_pause_counts_for_little() -> None:
    command = (sys.executable, "-c", SLEEPER)
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as sleeper:
        assert sleeper.stdin is not None
        assert sleeper.stdout is not None
        try:
            assert sleeper.stdout.readline() == b"awake\n"
            began = time.monotonic()
            sleeper.send_signal(signal.SIGSTOP)
            time.sleep(1)
            sleeper.send_signal(signal.SIGCONT)
            sleeper.stdin.write(b"\n")
            sleeper.stdin.flush()
            woken_at = float(sleeper.stdout.readline())
        finally:
            sleeper.kill()
    assert woken_at < time.monotonic() - began - 0.5


# Pauses where told, fails, and tells how often it tried.
ATTEMPTS = """
import asyncio, os, signal, sys, time
from tests.support.waiting import again_where_paused
pauses, tries = int(sys.argv[1]), 0
async def attempt():
    global tries
    tries += 1
    if tries > 2:
        return
    if tries <= pauses:
        if os.fork() == 0:
            time.sleep(0.3)
            os.kill(os.getppid(), signal.SIGCONT)
            os._exit(0)
        os.kill(os.getpid(), signal.SIGSTOP)
        os.wait()
    raise AssertionError
try:
    asyncio.run(again_where_paused(attempt))
except AssertionError:
    print("failed", end=" ")
print(tries)
"""


@pytest.mark.parametrize(("pauses", "printed"), [(2, b"3\n"), (0, b"failed 1\n")])
def test_only_a_paused_attempt_is_repeated(pauses: int, printed: bytes) -> None:
    command = (sys.executable, "-c", ATTEMPTS, str(pauses))
    assert subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout == printed


async def test_a_blocked_event_loop_is_no_pause() -> None:
    with Awake() as awake:
        time.sleep(0.4)  # noqa: ASYNC251 - what is to be seen
    assert awake.seconds >= 0.2


async def test_what_keeps_the_event_loop_busy_is_no_pause() -> None:
    with Awake() as awake:
        until = time.process_time() + 0.2
        while time.process_time() < until:
            pass
    # The two clocks do not agree to the millisecond.
    assert awake.seconds >= 0.19
