"""Waiting: slices of plans, and until when a request waits."""

from __future__ import annotations

import asyncio
import time

import pytest

from apiserver.scheduling.planning_queue import SLICE_CHARS, PlanningQueue, slices
from apiserver.scheduling.queue_deadline import QueueDeadline, QueueTimeoutError
from shared.protocol.deadline import Deadline
from shared.protocol.errors import DeadlineExceededError
from tests.shared.runtime.slow_work import SlowWork
from tests.support.waiting import wait_until

LONG = SLICE_CHARS + 1


async def test_short_slice_waits_for_no_long_one() -> None:
    queue, slow = PlanningQueue(), SlowWork()
    long = asyncio.create_task(queue.run("hostile", LONG, slow.work("long")))
    await wait_until(lambda: slow.begun, 5)
    assert await queue.run("neighbour", SLICE_CHARS, lambda: "short") == "short"
    slow.go_on.release()
    assert await long == "long"


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [
        ([0], [range(1)]),
        ([SLICE_CHARS, 1], [range(1), range(1, 2)]),
        ([10] * 5, [range(5)]),
        ([LONG, 1, 1, LONG, 1], [range(1), range(1, 3), range(3, 4), range(4, 5)]),
        ([1, SLICE_CHARS - 1, 1], [range(2), range(2, 3)]),
    ],
)
def test_slices_have_a_bound_or_one_text(lengths: list[int], expected: list[range]) -> None:
    assert list(slices(["a" * length for length in lengths])) == expected


def deadline_of(seconds: float, limit: float | None = None) -> QueueDeadline:
    queue = QueueDeadline(Deadline.after(seconds, time.monotonic))
    if limit is not None:
        queue.limit(limit)
    return queue


async def wait_for_ever(queue: QueueDeadline, *, begins: bool = False) -> None:
    async with queue.enforced():
        queue.wait()
        if begins:
            queue.begin()
        await asyncio.Event().wait()


async def test_wait_ends_at_the_queue_deadline() -> None:
    with pytest.raises(QueueTimeoutError):
        await wait_for_ever(deadline_of(60, limit=0.01))


async def test_request_that_began_has_its_whole_deadline() -> None:
    queue = deadline_of(60, limit=0.01)
    async with queue.enforced():
        queue.wait()
        queue.begin()
        queue.wait()
        await asyncio.sleep(0.05)
    assert queue.begun_at is not None


async def test_request_that_began_ends_at_its_deadline() -> None:
    with pytest.raises(DeadlineExceededError):
        await wait_for_ever(deadline_of(0.02, limit=0.01), begins=True)


@pytest.mark.parametrize("limit", [None, 60.0])
async def test_wait_without_an_earlier_limit_ends_at_the_deadline(limit: float | None) -> None:
    with pytest.raises(DeadlineExceededError):
        await wait_for_ever(deadline_of(0.01, limit))


async def test_canary_that_is_not_enforced_waits_on() -> None:
    queue = deadline_of(0.0, limit=0.0)
    queue.wait()
    await asyncio.sleep(0.01)
    queue.begin()
    assert queue.begun_at is not None
