"""How a process collects garbage, and how it ends."""

from __future__ import annotations

import gc
import signal
import subprocess
import sys
import weakref
from typing import NoReturn

import pytest

from shared.runtime import gc_tuning
from tests.support.processes import ROOT


class Ring:
    def __init__(self) -> None:
        self.own = self


def test_rare_collections_end_with_their_block() -> None:
    before = gc.get_threshold()
    with gc_tuning.rare_collections(full=False):
        assert gc.get_threshold()[2] == gc_tuning.NEVER
        with gc_tuning.rare_collections():
            assert gc.get_threshold()[2] == gc_tuning.GENERATION_1_COLLECTIONS
    assert gc.get_threshold() == before


async def test_garbage_is_collected_when_idle_and_at_last() -> None:
    collections: list[None] = []
    idle = [True, False, True]
    collector = gc_tuning.IdleCollector(idle.pop, lambda: collections.append(None))
    for expected in (1, 1, 2):
        await collector.tick()
        assert len(collections) == expected
    busy = gc_tuning.IdleCollector(lambda: False, lambda: collections.append(None))
    for _ in range(gc_tuning.MAX_PUT_OFF):
        await busy.tick()
    assert len(collections) == 2
    await busy.tick()
    assert len(collections) == 3


def test_freeze_excludes_old_objects_and_collects_new_ones() -> None:
    kept = Ring()
    try:
        gc_tuning.freeze_loaded_objects()
        assert gc.get_freeze_count() > 0
        assert not any(each is kept for each in gc.get_objects())
        lost = weakref.ref(Ring())
        gc.collect()
        assert lost() is None
    finally:
        gc.unfreeze()


class Body:
    """What a failed request holds."""


def _failed() -> tuple[BaseException, weakref.ref[Body]]:
    """Return an error of many parts, each of which is held by a frame of its own traceback."""
    body = Body()

    def part(cause: BaseException | None) -> BaseException:
        held = body
        try:
            fail(held, cause)
        except ValueError as error:
            kept = error
        return kept

    def fail(held: Body, cause: BaseException | None) -> NoReturn:
        raise ValueError(str(held)) from cause

    try:
        try:
            raise part(None)
        except ValueError:
            raise BaseExceptionGroup("two", [part(None), part(part(None))]) from part(None)
    except BaseExceptionGroup as error:
        return error, weakref.ref(body)


def test_dropped_tracebacks_keep_nothing() -> None:
    gc.disable()
    try:
        error, body = _failed()
        gc_tuning.drop_tracebacks(error)
        error.__context__ = error  # a chain may be a ring
        gc_tuning.drop_tracebacks(error)
        assert body() is None
    finally:
        gc.enable()


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
