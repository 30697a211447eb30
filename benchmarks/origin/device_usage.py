"""How busy CPU and GPU are while a point runs, looked at five times a second.

The CPU's figures are the counters that the whole benchmark goes by. The GPU's are NVML's (nvidia-smi's library, bound by vLLM): of the time
since its last look (a sixth to one second, by GPU), the part in which any kernel ran, however little of the GPU it filled; and the memory
taken, every design's together, for all engines stay.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, NamedTuple

INTERVAL_SECONDS: Final = 0.2
# Looks kept: 5 minutes, far longer than any point lasts.
MAX_READINGS: Final = 1500
MEBIBYTE: Final = 1 << 20


class Reading(NamedTuple):
    """When (monotonic seconds), the CPU seconds so far, and of the GPU the per cent of the time that it was busy, and the MiB taken."""

    at: float
    cpu: float
    gpu: tuple[float, float] | None = None


class NoGpuError(Exception):
    """There is no GPU whose figures can be read."""


class Gpu:
    """The first visible GPU, which is the one that vLLM takes.

    Raises:
        NoGpuError: it tells no figures.
    """

    def __init__(self, nvml: Any) -> None:
        name = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")[0] or "0"
        self._nvml = nvml
        try:
            nvml.nvmlInit()
            by = nvml.nvmlDeviceGetHandleByIndex if name.isdecimal() else nvml.nvmlDeviceGetHandleByUUID
            self._handle = by(int(name) if name.isdecimal() else name)
            self.reading()
        except nvml.NVMLError as error:
            raise NoGpuError(f"--device cuda: GPU {name} can not be watched: {error}") from None

    def reading(self) -> tuple[float, float]:
        """Return how busy it is, per cent, and its memory taken, MiB."""
        busy = self._nvml.nvmlDeviceGetUtilizationRates(self._handle).gpu
        return float(busy), self._nvml.nvmlDeviceGetMemoryInfo(self._handle).used / MEBIBYTE


def find_gpu(device: str) -> Gpu | None:
    """Return the GPU of a run; None for a CPU."""
    if device != "cuda":
        return None
    from vllm.third_party import pynvml  # noqa: PLC0415 - a run on a CPU needs none of it

    return Gpu(pynvml)


@asynccontextmanager
async def watched(spent: Callable[[], float], gpu: Gpu | None) -> AsyncGenerator[list[Reading]]:
    """Yield looks at a counter of CPU seconds and at the GPU, more of them while the block lasts."""
    readings = [Reading(time.monotonic(), spent())]

    async def look() -> None:
        for _ in range(MAX_READINGS):
            await asyncio.sleep(INTERVAL_SECONDS)
            readings.append(Reading(time.monotonic(), spent(), gpu and gpu.reading()))

    looking = asyncio.create_task(look())
    try:
        yield readings
    finally:
        looking.cancel()
        await asyncio.wait({looking})
    if not looking.cancelled():
        looking.result()


def cores(readings: Sequence[Reading], since: float, until: float) -> list[tuple[float, float]]:
    """Return the cores taken up to each look in the time that counts, seconds from its beginning."""
    return [
        (round(after.at - since, 3), round((after.cpu - before.cpu) / (after.at - before.at), 3))
        for before, after in itertools.pairwise(readings)
        if since <= after.at < until
    ]


def gpu_timeline(readings: Sequence[Reading], since: float, until: float) -> list[tuple[float, float, float]]:
    """Return the looks at the GPU in the time that counts, seconds from its beginning."""
    return [
        (round(reading.at - since, 3), *reading.gpu)
        for reading in readings
        if reading.gpu and since <= reading.at < until
    ]
