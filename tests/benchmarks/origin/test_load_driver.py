"""Closed and open loops of a point."""

from __future__ import annotations

import asyncio
import itertools

from benchmarks.origin.load_driver import LoadDriver, PointPlan
from benchmarks.origin.workload.candidate_texts import (
    UNIFORM,
)
from benchmarks.origin.workload.text_file import OriginText


def row(text: str, kind: str = UNIFORM) -> OriginText:
    return OriginText(kind, "en", "de", text, [([1, 2], 10)])


async def test_closed_loop_counts_when_warm() -> None:
    flying = most = 0

    async def send(_: OriginText) -> str:
        nonlocal flying, most
        flying += 1
        most = max(most, flying)
        await asyncio.sleep(0.01)
        flying -= 1
        return ""

    plan = PointPlan("", "", UNIFORM, 0, seconds=0.1, warm_up=5.0, concurrency=3)
    load = await LoadDriver(plan, itertools.repeat(row("a")), send).run()
    assert most == 3
    assert flying == 0
    assert load.since >= sorted(answer.ended for answer in load.answers)[2]
    assert 0.1 <= load.until - load.since < 2, "not as long as a warm-up may last"


async def test_slow_closed_loop_counts_longer() -> None:
    async def send(_: OriginText) -> str:
        await asyncio.sleep(0.05)
        return ""

    plan = PointPlan("", "", UNIFORM, 0, seconds=0.001, warm_up=5.0, concurrency=4)
    load = await LoadDriver(plan, itertools.repeat(row("a")), send).run()
    assert len([answer for answer in load.answers if load.since <= answer.ended <= load.until]) == 4


async def test_open_loop_does_not_wait_for_answers() -> None:
    over = asyncio.Event()
    sent = 0

    async def send(_: OriginText) -> str:
        nonlocal sent
        sent += 1
        if sent == 10:  # half of those due in the warm-up
            over.set()
        await over.wait()
        return ""

    plan = PointPlan("", "", UNIFORM, 0, seconds=0.1, warm_up=0.1, rate=200.0)
    load = await LoadDriver(plan, itertools.repeat(row("a")), send).run()
    assert len(load.answers) == sent >= 10
