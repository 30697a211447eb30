"""What the harness itself promises: it sees stalls, tells growth from steps, and leaves no endpoint out."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.hostile.endpoints import HEAD_KINDS
from tests.hostile.measuring import Cost, Result, Row, Sent
from tests.hostile.probe import ProbeFile, probed
from tests.hostile.run import all_rows
from tests.hostile.sample import sampled
from tests.support.waiting import wait_until

SIZES = (1_000, 2_000, 4_000, 8_000)
STALL = 0.1


def result_of(seconds: Callable[[int], float], stall: float = 0.0, status: int = 200) -> Result:
    row = Row("proxy", "POST /translate", "words", SIZES[-1], lambda _, __: Sent("POST", "/translate"))
    return Result(row, {size: Cost(seconds(size), stall, status) for size in SIZES})


def compute() -> None:
    """Use processor time; how long that takes is the machine's affair."""
    until = time.process_time() + STALL
    while time.process_time() < until:
        pass


async def test_probe_sees_what_stops_the_loop(tmp_path: Path) -> None:
    async with probed(tmp_path / "probe"):
        figures = ProbeFile(tmp_path / "probe")
        await wait_until(lambda: figures.ticks > 2, 60)
        figures.reset()
        compute()
        await wait_until(lambda: figures.stall >= STALL / 2, 60)
    assert "in compute" in (tmp_path / "probe.stacks").read_text()


async def test_probe_counts_the_time_of_other_threads(tmp_path: Path) -> None:
    async with probed(tmp_path / "probe"):
        figures = ProbeFile(tmp_path / "probe")
        before = figures.ticks
        working = threading.Thread(target=compute)
        working.start()
        await wait_until(lambda: not working.is_alive(), 60)
        await wait_until(lambda: figures.ticks > before and figures.stall > 0, 60)


@pytest.mark.parametrize("exponent", [1.5, 2.0, 3.0])
def test_result_finds_growth(exponent: float) -> None:
    assert result_of(lambda size: 0.02 * (size / 1_000) ** exponent).grows


def linear(size: int) -> float:
    return size / 20_000


def a_little_more(size: int) -> float:
    return (size / 1_000) ** 1.2 / 20


def with_a_step(size: int) -> float:
    return {1_000: 0.05, 2_000: 0.1, 4_000: 0.5}.get(size, 0.5)


def below_20_ms(size: int) -> float:
    return (size / 1_000) ** 2 / 10_000


@pytest.mark.parametrize("seconds", [linear, a_little_more, with_a_step, below_20_ms])
def test_result_forgives_what_is_no_growth(seconds: Callable[[int], float]) -> None:
    assert not result_of(seconds).grows


def test_result_names_stalls_and_statuses() -> None:
    assert not result_of(lambda _: 0.01).faults(0.05)
    assert result_of(lambda _: 0.01, stall=0.06).faults(0.05) == ["stands still for 60 ms"]
    assert result_of(lambda _: 0.01, status=500).faults(0.05) == ["is answered with 500"]


def test_sample_has_every_endpoint_and_model() -> None:
    rows = all_rows(HEAD_KINDS[:1])
    chosen = sampled(rows)

    def parts(rows: list[Row]) -> tuple[set[tuple[str, str]], set[str]]:
        return {(row.server, row.endpoint) for row in rows}, {row.name.partition(" to ")[2] for row in rows}

    assert parts(chosen) == parts(rows)
    assert len(chosen) < len(rows) / 3
