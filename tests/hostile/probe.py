"""Probe of an event loop: the most processor time of the process between two ticks of a timer on the loop.

It counts every thread, because a C function in another thread that keeps the interpreter's lock stops the loop too. The figures are
in a small file that the process maps and another one reads and resets; after each late tick's time the stacks are appended to a second one.
"""

from __future__ import annotations

import asyncio
import contextlib
import mmap
import signal
import struct
import sys
import threading
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import FrameType
from typing import Final, TextIO

TICK_SECONDS: Final = 0.005
# The stacks are written whenever a tick is that late, so they show the middle of a stall.
TRACED_SECONDS: Final = 0.04
# Longest stall in seconds of processor time, and number of ticks.
FIGURES: Final = struct.Struct("=dd")


class ProbeFile:
    """The figures, shared between the watched process and the one that reads them."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(bytes(FIGURES.size))
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), FIGURES.size)

    @property
    def stall(self) -> float:
        """The longest stall since the last reset, in seconds."""
        return FIGURES.unpack(self._map[:])[0]

    @property
    def ticks(self) -> float:
        """How often the timer ticked."""
        return FIGURES.unpack(self._map[:])[1]

    def tick(self, stall: float) -> None:
        """Note a tick of the watched loop."""
        longest, ticks = FIGURES.unpack(self._map[:])
        self._map[:] = FIGURES.pack(max(longest, stall), ticks + 1)

    def reset(self) -> None:
        """Forget the longest stall."""
        self._map[:8] = bytes(8)


@asynccontextmanager
async def probed(path: Path) -> AsyncGenerator[None]:
    """Watch the running loop while the block lasts; stacks of stalls go to ``path`` with the suffix ``.stacks``."""
    figures = ProbeFile(path)

    async def watch() -> None:
        last = time.process_time()
        while True:
            signal.setitimer(signal.ITIMER_PROF, TRACED_SECONDS, TRACED_SECONDS)
            await asyncio.sleep(TICK_SECONDS)
            now = time.process_time()
            figures.tick(now - last)
            last = now

    with path.with_suffix(".stacks").open("a") as stacks:
        # Not faulthandler's own: it reads the frames in the middle of a call, and kills the process once in a while.
        signal.signal(signal.SIGPROF, lambda _, frame: _write(stacks, frame))
        watching = asyncio.create_task(watch())
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            watching.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await watching
            signal.signal(signal.SIGPROF, signal.SIG_IGN)


def _write(stacks: TextIO, running: FrameType | None) -> None:
    """Append the stack of the loop's thread, and those of the others, the innermost frame first."""
    own = threading.get_ident()
    frames = sys._current_frames()  # pyright: ignore[reportPrivateUsage] - documented, for debuggers
    others = {number: frame for number, frame in frames.items() if number != own}
    stacks.writelines(
        f"{title} (most recent call first):\n{''.join(_lines(frame))}\n"
        for title, frame in (
            *((f"Thread {number:#x}", frame) for number, frame in others.items()),
            ("Current thread", running),
        )
    )
    stacks.flush()


def _lines(frame: FrameType | None) -> Iterator[str]:
    while frame is not None:
        yield f'  File "{frame.f_code.co_filename}", line {frame.f_lineno} in {frame.f_code.co_name}\n'
        frame = frame.f_back
