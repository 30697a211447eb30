"""Planning queue: short slices beside long ones, in slices of a bounded size."""

from __future__ import annotations

import asyncio

import pytest

from apiserver.scheduling.planning_queue import SLICE_CHARS, PlanningQueue, slices
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
