"""CPU and GPU over time, with an NVML of our own."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from benchmarks.origin.device_usage import Reading, find_gpu, gpu_reader, timelines, watched
from tests.support.waiting import wait_until


class FakeNvmlError(Exception):
    """What NVML says when it cannot."""


class FakeNvml:
    """A GPU that is busier with each look."""

    NVMLError = FakeNvmlError

    def __init__(self, *, works: bool = True) -> None:
        self.works = works
        self.looks = 0
        self.device: int | str | None = None

    def nvmlInit(self) -> None:  # noqa: N802 - NVML's name
        if not self.works:
            raise FakeNvmlError("Driver Not Loaded")

    def nvmlDeviceGetHandleByIndex(self, index: int) -> str:  # noqa: N802
        self.device = index
        return "handle"

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> str:  # noqa: N802
        self.device = uuid
        return "handle"

    def nvmlDeviceGetUtilizationRates(self, handle: str) -> SimpleNamespace:  # noqa: N802
        assert handle == "handle"
        self.looks += 1
        return SimpleNamespace(gpu=self.looks)

    def nvmlDeviceGetMemoryInfo(self, handle: str) -> SimpleNamespace:  # noqa: N802
        assert handle == "handle"
        return SimpleNamespace(used=1024 * 2**20)


@pytest.mark.parametrize(("visible", "device"), [("", 0), ("3,4", 3), ("GPU-12ab", "GPU-12ab")])
def test_first_visible_gpu_is_watched(visible: str, device: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    nvml = FakeNvml()
    assert gpu_reader(nvml)() == (2.0, 1024.0)
    assert nvml.device == device


def test_gpu_without_figures_is_refused() -> None:
    with pytest.raises(ValueError, match="Driver Not Loaded"):
        gpu_reader(FakeNvml(works=False))
    assert find_gpu("cpu") is None


async def test_looks_are_kept_while_the_block_lasts() -> None:
    nvml, seconds = FakeNvml(), iter(range(1000))
    async with watched(lambda: float(next(seconds)), gpu_reader(nvml)) as readings:
        await wait_until(lambda: len(readings) >= 3, 10)
    assert [reading.cpu for reading in readings[:3]] == [0.0, 1.0, 2.0]
    assert [reading.gpu for reading in readings[:3]] == [None, (2.0, 1024.0), (3.0, 1024.0)]
    kept = len(readings)
    await asyncio.sleep(0.3)
    assert len(readings) == kept


async def test_counter_that_fails_ends_the_block() -> None:
    looks = 0

    def spent() -> float:
        nonlocal looks
        looks += 1
        if looks > 1:
            raise RuntimeError("no such process")
        return 0.0

    with pytest.raises(ExceptionGroup) as failed:
        async with watched(spent, None):
            await asyncio.sleep(3600)
    assert failed.group_contains(RuntimeError, match="no such process")


def test_timelines_begin_where_the_time_counts() -> None:
    readings = [Reading(9.0, 0.0), Reading(10.0, 0.5, (10.0, 1.0)), Reading(11.0, 2.0, (90.0, 2.0)), Reading(12.0, 3.0)]
    assert timelines(readings, 10.0, 12.0) == ([(0.0, 0.5), (1.0, 1.5)], [(0.0, 10.0, 1.0), (1.0, 90.0, 2.0)])
    assert timelines([], 0.0, 1.0) == ([], [])
