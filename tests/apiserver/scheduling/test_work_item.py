"""A work item: its cost and lane, and the limit of its wait for a first slot."""

from __future__ import annotations

import asyncio

import pytest

from apiserver.scheduling.work_item import WorkItem
from shared.protocol.priority import CHARS_PER_UNIT, CONTEXT_CHARS_PER_UNIT, SHORT_UNITS, Lane, Priority
from tests.apiserver.work_items import work_of


def test_request_is_long_by_its_longest_text() -> None:
    assert work_of(["x" * SHORT_UNITS * CHARS_PER_UNIT] * 3, Priority.BULK).lane is Lane.BULK_SHORT
    assert work_of(["x", "x" * (SHORT_UNITS * CHARS_PER_UNIT + 1)], Priority.BULK).lane is Lane.BULK_LONG


def test_cost_is_by_characters_and_at_least_one_for_each_text() -> None:
    assert work_of(["x"] * 7).cost == 7.0
    assert work_of("x" * 3 * CHARS_PER_UNIT).cost == 3.0
    assert work_of(["x"] * 7, alternatives=3).cost == 28.0
    assert work_of("x" * 3 * CHARS_PER_UNIT, context="y" * CONTEXT_CHARS_PER_UNIT, alternatives=1).cost == 12.0


async def queue_for_ever(work: WorkItem) -> None:
    async with asyncio.timeout(60) as work.timer:
        work.wait()
        await asyncio.Event().wait()


async def test_wait_ends_at_the_queue_deadline() -> None:
    work = work_of()
    work.queue_seconds = 0.01
    with pytest.raises(TimeoutError):
        await queue_for_ever(work)
    assert work.is_queueing


async def test_begun_work_has_its_whole_deadline() -> None:
    work = work_of(seconds=60)
    work.queue_seconds = 0.01
    async with asyncio.timeout(60) as work.timer:
        work.wait()
        work.begin()
        work.wait()
        await asyncio.sleep(0.05)
    assert not work.is_queueing


async def test_long_work_waits_until_its_deadline() -> None:
    work = work_of()
    async with asyncio.timeout(60) as work.timer:
        before = work.timer.when()
        work.wait()
        await asyncio.sleep(0)
    assert work.timer.when() == before
    assert not work.is_queueing
