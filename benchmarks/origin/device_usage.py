"""How busy CPU and GPU are while a point runs, looked at five times a second.

The GPU's figures are NVML's (nvidia-smi's library, bound by vLLM): of the time since its last look the part in which any kernel ran, however
little of the GPU it filled, and the memory taken, every design's together, for all engines stay.
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
# Returns how busy the GPU is, per cent, and its memory taken, MiB.
ReadGpu = Callable[[], tuple[float, float]]


class Reading(NamedTuple):
    """When (monotonic seconds), the CPU seconds so far, and of the GPU the per cent of the time that it was busy, and the MiB taken."""

    at: float
    cpu: float
    gpu: tuple[float, float] | None = None


def gpu_reader(nvml: Any) -> ReadGpu:
    """Return the reader of the first visible GPU, which is the one that vLLM takes; raises ValueError where it gives no figures."""
    name = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")[0] or "0"

    def read() -> tuple[float, float]:
        return float(nvml.nvmlDeviceGetUtilizationRates(gpu).gpu), nvml.nvmlDeviceGetMemoryInfo(gpu).used / MEBIBYTE

    try:
        nvml.nvmlInit()
        by_index, by_uuid = nvml.nvmlDeviceGetHandleByIndex, nvml.nvmlDeviceGetHandleByUUID
        gpu = by_index(int(name)) if name.isdecimal() else by_uuid(name)
        read()
    except nvml.NVMLError as error:
        raise ValueError(f"--device cuda: GPU {name} cannot be watched: {error}") from None
    return read


def find_gpu(device: str) -> ReadGpu | None:
    """Return the reader of a run's GPU; None for a CPU."""
    if device != "cuda":
        return None
    from vllm.third_party import pynvml  # noqa: PLC0415 - a run on a CPU needs none of it

    return gpu_reader(pynvml)


@asynccontextmanager
async def watched(spent: Callable[[], float], read_gpu: ReadGpu | None) -> AsyncGenerator[list[Reading]]:
    """Yield looks at a counter of CPU seconds and at the GPU, more of them while the block lasts."""
    readings = [Reading(time.monotonic(), spent())]

    async def look() -> None:
        for _ in range(MAX_READINGS):
            await asyncio.sleep(INTERVAL_SECONDS)
            readings.append(Reading(time.monotonic(), spent(), read_gpu and read_gpu()))

    async with asyncio.TaskGroup() as group:
        looking = group.create_task(look())
        yield readings
        looking.cancel()


def timelines(
    readings: Sequence[Reading], since: float, until: float
) -> tuple[list[tuple[float, float]], list[tuple[float, float, float]]]:
    """Return the cores taken up to each look in the time that counts, and the looks at the GPU, seconds from its beginning."""
    cores: list[tuple[float, float]] = []
    gpu: list[tuple[float, float, float]] = []
    for before, after in itertools.pairwise(readings):
        if since <= after.at < until:
            at = round(after.at - since, 3)
            cores.append((at, round((after.cpu - before.cpu) / (after.at - before.at), 3)))
            gpu += [(at, *after.gpu)] if after.gpu else []
    return cores, gpu
