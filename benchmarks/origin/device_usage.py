"""How busy CPU and GPU are while a point runs, looked at five times a second.

The CPU's figures are the counters that the whole benchmark goes by. The GPU's are ``nvidia-smi``'s, one process for the
run: of the time since its last look (a sixth to one second, by GPU), the part in which any kernel ran, however little of the
GPU it filled; and the memory taken, every design's together, for all engines stay.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from io import FileIO
from typing import Final, NamedTuple

INTERVAL_SECONDS: Final = 0.2
# Looks kept: 5 minutes, far longer than any point lasts.
MAX_READINGS: Final = 1500
# Until the first line of a driver that has to wake a GPU.
FIRST_READING_SECONDS: Final = 30.0
PROGRAM: Final = "nvidia-smi"
# What it says of itself when it fails.
MAX_MESSAGE_CHARS: Final = 300


class GpuReading(NamedTuple):
    """When (monotonic seconds), which per cent of the time the GPU was busy, and how many MiB were taken."""

    at: float
    busy: float
    mib: float


class CpuReading(NamedTuple):
    """When (monotonic seconds), and the CPU seconds so far."""

    at: float
    spent: float


@dataclass
class GpuReadings:
    """The last looks at a GPU; ``ended`` are nvidia-smi's last words once it has ended by itself."""

    readings: deque[GpuReading] = field(default_factory=lambda: deque[GpuReading](maxlen=MAX_READINGS))
    ended: str = ""


class NoGpuError(Exception):
    """nvidia-smi is missing or does not answer."""


def require_gpu(device: str) -> None:
    """See by one look that the GPU can be watched, before anything is started.

    Raises:
        NoGpuError: it can not.
    """
    if device != "cuda":
        return
    if (program := shutil.which(PROGRAM)) is None:
        raise NoGpuError(f"--device cuda needs {PROGRAM} on the PATH, for the GPU's timeline; it comes with the driver")
    try:
        reading = subprocess.run(
            [program, *_query()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=FIRST_READING_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise NoGpuError(f"{PROGRAM} said nothing of use in {FIRST_READING_SECONDS:g} s") from None
    answer_text = reading.stdout.decode(errors="replace").strip()
    if not any(parse_reading(line, 0.0) for line in answer_text.splitlines()):
        raise NoGpuError(f"{PROGRAM} tells no figures: {answer_text[-MAX_MESSAGE_CHARS:] or 'it answer_text nothing'}")


def _query() -> list[str]:
    """Return what nvidia-smi is asked: one line of the first visible GPU, which is the one that vLLM takes."""
    gpu = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")[0] or "0"
    return ["--query-gpu=utilization.gpu,memory.used", "--format=csv,noheader,nounits", f"--id={gpu}"]


def parse_reading(line: str, at: float) -> GpuReading | None:
    """Return what a line says; None where the driver does not tell (``[N/A]``), or it is no line of figures."""
    try:
        busy, mib = map(float, line.split(","))
    except ValueError:
        return None
    return GpuReading(at, busy, mib)


@asynccontextmanager
async def gpu_readings(device: str) -> AsyncGenerator[GpuReadings]:
    """Yield the looks at the GPU, kept up to date; none for a CPU. The process is gone with the block.

    Raises:
        NoGpuError: nvidia-smi does not answer.
    """
    watch = GpuReadings()
    if device != "cuda":
        yield watch
        return
    # Into a terminal of its own, where every line comes at once; into a pipe a program may gather them.
    ours, its = os.openpty()
    with os.fdopen(ours, "rb", buffering=0) as terminal:
        try:
            process = await asyncio.create_subprocess_exec(
                *(PROGRAM, *_query(), f"--loop-ms={INTERVAL_SECONDS * 1000:.0f}"),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=its,
                stderr=its,
            )
        finally:
            os.close(its)
        reading = asyncio.create_task(_read(terminal, watch))
        try:
            await _first_reading(reading, watch)
            yield watch
        finally:
            reading.cancel()
            if process.returncode is None:
                process.kill()
            await process.wait()
            await asyncio.wait({reading})


async def _read(terminal: FileIO, watch: GpuReadings) -> None:
    """Note every line until there are no more; the last one that held no figures tells of the end."""
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), terminal)
    last = ""
    try:
        while line := (await reader.readline()).decode(errors="replace"):
            reading = parse_reading(line, time.monotonic())
            if reading is not None:
                watch.readings.append(reading)
            else:
                last = line.strip()[:MAX_MESSAGE_CHARS] or last
    except OSError:  # how a terminal says that its program ended
        pass
    finally:
        transport.close()
    watch.ended = last or "it said nothing"


async def _first_reading(reading: asyncio.Task[None], watch: GpuReadings) -> None:
    until = time.monotonic() + FIRST_READING_SECONDS
    while not watch.readings:
        if reading.done():
            reading.result()
            raise NoGpuError(f"{PROGRAM} ended: {watch.ended}")
        if time.monotonic() > until:
            raise NoGpuError(f"{PROGRAM} said nothing of use in {FIRST_READING_SECONDS:g} s")
        await asyncio.sleep(INTERVAL_SECONDS / 4)


@asynccontextmanager
async def cpu_readings(spent: Callable[[], float]) -> AsyncGenerator[Sequence[CpuReading]]:
    """Yield looks at a counter of CPU seconds, more of them while the block lasts.

    Raises:
        Exception: what ``spent`` raised in the block, when it ends: the looks end there.
    """
    readings = deque([CpuReading(time.monotonic(), spent())], maxlen=MAX_READINGS)

    async def reading() -> None:
        while True:
            await asyncio.sleep(INTERVAL_SECONDS)
            readings.append(CpuReading(time.monotonic(), spent()))

    looking = asyncio.create_task(reading())
    try:
        yield readings
    finally:
        looking.cancel()
        await asyncio.wait({looking})
    if not looking.cancelled():
        looking.result()


def cores(readings: Sequence[CpuReading], since: float, until: float) -> list[tuple[float, float]]:
    """Return the cores taken up to each look in the time that counts, seconds from its beginning."""
    steps = zip(readings, list(readings)[1:], strict=False)
    return [
        (round(after.at - since, 3), round((after.spent - before.spent) / (after.at - before.at), 3))
        for before, after in steps
        if since <= after.at < until
    ]


def gpu_timeline(readings: Iterable[GpuReading], since: float, until: float) -> list[tuple[float, float, float]]:
    """Return the looks at the GPU in the time that counts, seconds from its beginning."""
    return [
        (round(reading.at - since, 3), reading.busy, reading.mib) for reading in readings if since <= reading.at < until
    ]
