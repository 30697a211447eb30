"""CPU and GPU over time, with a nvidia-smi of our own."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
import textwrap
from pathlib import Path

import psutil
import pytest

from benchmarks.origin import device_usage as devices
from benchmarks.origin.device_usage import (
    CpuReading,
    GpuReading,
    NoGpuError,
    cores,
    gpu_readings,
    gpu_timeline,
    parse_reading,
    require_gpu,
)
from tests.support.waiting import wait_until


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put an nvidia-smi on the PATH that runs ``program`` in the folder returned; ``arguments`` lies there once it runs."""
    found, inside = tmp_path / "nvidia-smi", tmp_path / "nvidia-smi.py"
    program = f"""\
        import os, sys, time
        with open({str(tmp_path / "started")!r}, "w") as started:
            print(os.getpid(), *sys.argv[1:], file=started)
        exec(open({str(tmp_path / "program")!r}).read())
        """
    inside.write_text(textwrap.dedent(program))
    # By way of a shell: no path in a line of #! may have a space.
    found.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -IS {shlex.quote(str(inside))} "$@"\n')
    found.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return tmp_path


BUSY = "number = 0\nwhile True:\n    print(f'{number % 100}, 1024')\n    number += 1\n    time.sleep(0.01)\n"


def started(folder: Path) -> list[str]:
    return (folder / "started").read_text().split()


def test_parse_reading_skips_unknown_figures() -> None:
    assert parse_reading("37, 1024\r\n", 5.0) == GpuReading(5.0, 37.0, 1024.0)
    assert parse_reading("[N/A], 1024", 5.0) is None
    assert parse_reading("NVIDIA-SMI has failed", 5.0) is None
    assert parse_reading("", 5.0) is None


async def test_unflushed_lines_are_read_at_once(fake: Path) -> None:
    (fake / "program").write_text(BUSY)
    async with gpu_readings("cuda") as watch:
        await wait_until(lambda: len(watch.readings) >= 3, 5)
        pid, *arguments = started(fake)
        assert arguments == [
            "--query-gpu=utilization.gpu,memory.used",
            "--format=csv,noheader,nounits",
            "--id=0",
            "--loop-ms=200",
        ]
    assert [reading.busy for reading in watch.readings][:3] == [0, 1, 2]
    assert not watch.ended
    assert not psutil.pid_exists(int(pid))


async def test_first_visible_gpu_is_watched(fake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (fake / "program").write_text(BUSY)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,4")
    async with gpu_readings("cuda"):
        assert "--id=3" in started(fake)


async def test_readings_are_bounded(fake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (fake / "program").write_text(BUSY)
    monkeypatch.setattr(devices, "MAX_READINGS", 4)
    async with gpu_readings("cuda") as watch:
        await wait_until(lambda: watch.readings[-1].busy >= 8, 5)
        assert len(watch.readings) == 4


async def test_nvidia_smi_ends_when_the_run_fails(fake: Path) -> None:
    (fake / "program").write_text(BUSY)
    with pytest.raises(ZeroDivisionError):
        async with gpu_readings("cuda"):
            raise ZeroDivisionError
    assert not psutil.pid_exists(int(started(fake)[0]))


async def test_nvidia_smi_ends_when_the_run_is_cancelled(fake: Path) -> None:
    (fake / "program").write_text(BUSY)

    async def run() -> None:
        async with gpu_readings("cuda"):
            await asyncio.sleep(60)

    running = asyncio.create_task(run())
    await wait_until(lambda: (fake / "started").is_file() and started(fake), 5)
    running.cancel()
    await asyncio.wait({running})
    assert not psutil.pid_exists(int(started(fake)[0]))


async def test_nvidia_smi_is_killed_when_it_ignores_sigterm(fake: Path) -> None:
    (fake / "program").write_text(f"import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n{BUSY}")
    async with gpu_readings("cuda"):
        pass
    assert not psutil.pid_exists(int(started(fake)[0]))


async def test_run_survives_the_end_of_nvidia_smi(fake: Path) -> None:
    (fake / "program").write_text("print('37, 1024')\nprint('GPU is lost')")
    async with gpu_readings("cuda") as watch:
        await wait_until(lambda: bool(watch.ended), 5)
        assert [reading.busy for reading in watch.readings] == [37]
    assert watch.ended == "GPU is lost"


async def test_failure_of_nvidia_smi_is_quoted(fake: Path) -> None:
    (fake / "program").write_text("sys.exit('NVIDIA-SMI has failed because of no driver.')")
    with pytest.raises(NoGpuError, match=r"nvidia-smi ended: NVIDIA-SMI has failed because of no driver\."):
        async with gpu_readings("cuda"):
            pass


async def test_silent_nvidia_smi_times_out(fake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (fake / "program").write_text("time.sleep(60)")
    monkeypatch.setattr(devices, "FIRST_READING_SECONDS", 0.2)
    with pytest.raises(NoGpuError, match=r"said nothing of use in 0\.2 s"):
        async with gpu_readings("cuda"):
            pass


async def test_cpu_needs_no_nvidia_smi(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    require_gpu("cpu")
    async with gpu_readings("cpu") as watch:
        assert not watch.readings
    with pytest.raises(NoGpuError, match="--device cuda needs nvidia-smi on the PATH"):
        require_gpu("cuda")


def test_require_gpu_reads_once(fake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (fake / "program").write_text("print('37, 1024')")
    require_gpu("cuda")
    assert started(fake)[1:] == [
        "--query-gpu=utilization.gpu,memory.used",
        "--format=csv,noheader,nounits",
        "--id=0",
    ]
    (fake / "program").write_text("sys.exit('NVIDIA-SMI has failed because of no driver.')")
    with pytest.raises(NoGpuError, match=r"tells no figures: NVIDIA-SMI has failed because of no driver\."):
        require_gpu("cuda")
    (fake / "program").write_text("time.sleep(60)")
    monkeypatch.setattr(devices, "FIRST_READING_SECONDS", 0.2)
    with pytest.raises(NoGpuError, match=r"said nothing of use in 0\.2 s"):
        require_gpu("cuda")


async def test_cpu_readings_last_as_long_as_the_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "INTERVAL_SECONDS", 0.01)
    spent = 0.0

    def more() -> float:
        nonlocal spent
        spent += 1
        return spent

    async with devices.cpu_readings(more) as readings:
        await wait_until(lambda: len(readings) >= 3, 5)
    assert [reading.spent for reading in readings][:3] == [1, 2, 3]
    seen = len(readings)
    await asyncio.sleep(0.05)
    assert len(readings) == seen


async def test_failed_cpu_reading_is_raised_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "INTERVAL_SECONDS", 0.01)
    readings = 0

    def spent() -> float:
        nonlocal readings
        readings += 1
        if readings == 3:
            raise psutil.NoSuchProcess(1)
        return 1.0

    with pytest.raises(psutil.NoSuchProcess):
        async with devices.cpu_readings(spent):
            await wait_until(lambda: readings == 3, 5)
    with pytest.raises(ZeroDivisionError):  # the block's own error goes first
        async with devices.cpu_readings(lambda: 1.0):
            raise ZeroDivisionError


def test_timelines_begin_where_the_time_counts() -> None:
    readings = [CpuReading(0.0, 5.0), CpuReading(0.5, 5.5), CpuReading(1.0, 6.5), CpuReading(1.5, 6.5)]
    assert cores(readings, 0.5, 1.5) == [(0.0, 1.0), (0.5, 2.0)]
    assert cores([], 0.0, 1.0) == []
    assert gpu_timeline([GpuReading(1.0, 40, 9), GpuReading(2.0, 50, 9)], 1.5, 3.0) == [(0.5, 50, 9)]
