"""AbandonedComputations: the oldest exceed the limits, of their caller or of all."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from proxy.cache.abandoned_computations import (
    MAX_BYTES_IN_ALL,
    MAX_BYTES_PER_CALLER,
    MAX_IN_ALL,
    MAX_PER_CALLER,
    AbandonedComputations,
)
from proxy.cache.shared_computation import BYTES_PER_CHAR, SharedComputation
from proxy.keys.caller import Caller
from proxy.request_cost import RequestCost
from shared.runtime.metrics import RequestSample


async def abandoned(count: int, *, caller: str = "ann", size: int = 0) -> list[SharedComputation]:
    task = asyncio.current_task()
    assert task is not None
    who = Caller(caller)
    cost = RequestCost(1.0, chars=size // BYTES_PER_CHAR)
    sample = RequestSample()
    return [
        SharedComputation(b"", who, cost, sample, task, 0.0, is_private=False, repeaters=(who,)) for _ in range(count)
    ]


def added(computations: AbandonedComputations, each: Sequence[SharedComputation]) -> list[SharedComputation]:
    return [removed for one in each for removed in computations.add(one)]


async def test_oldest_of_a_caller_is_removed() -> None:
    computations = AbandonedComputations()
    anns = await abandoned(MAX_PER_CALLER + 2)
    bobs = await abandoned(MAX_PER_CALLER, caller="bob")
    assert added(computations, bobs) == []
    assert added(computations, anns) == anns[:2]
    assert len(computations) == 2 * MAX_PER_CALLER


async def test_oldest_of_all_is_removed() -> None:
    computations = AbandonedComputations()
    everybodys = [one for n in range(MAX_IN_ALL + 3) for one in await abandoned(1, caller=f"caller {n}")]
    assert added(computations, everybodys) == everybodys[:3]
    assert len(computations) == MAX_IN_ALL


async def test_bytes_of_a_caller_are_limited() -> None:
    computations = AbandonedComputations()
    third = await abandoned(4, size=MAX_BYTES_PER_CALLER // 3)
    assert added(computations, third) == third[:1]
    (too_large,) = await abandoned(1, size=MAX_BYTES_PER_CALLER + BYTES_PER_CHAR)
    assert computations.add(too_large) == [*third[1:], too_large]
    assert len(computations) == 0


async def test_bytes_of_all_are_limited() -> None:
    computations = AbandonedComputations()
    callers = MAX_BYTES_IN_ALL // MAX_BYTES_PER_CALLER
    large = [
        one for n in range(callers + 1) for one in await abandoned(1, caller=f"caller {n}", size=MAX_BYTES_PER_CALLER)
    ]
    assert added(computations, large) == large[:1]


async def test_computation_that_is_discarded_no_longer_counts() -> None:
    computations = AbandonedComputations()
    anns = await abandoned(MAX_PER_CALLER)
    assert added(computations, anns) == []
    computations.discard(anns[0])
    computations.discard(anns[0])
    assert added(computations, await abandoned(1)) == []
    assert added(computations, anns[-1:]) == [], "it is there already"
    assert len(computations) == MAX_PER_CALLER


@pytest.mark.parametrize("length", [0, MAX_BYTES_PER_CALLER, MAX_BYTES_PER_CALLER + 1])
async def test_size_is_that_of_the_result_once_it_is_there(length: int) -> None:
    computations = AbandonedComputations()
    (one,) = await abandoned(1, size=MAX_BYTES_PER_CALLER)
    assert computations.add(one) == []
    one.result = asyncio.get_running_loop().create_future()
    one.result.set_result(b"x" * length)
    assert computations.add(one) == ([one] if length > MAX_BYTES_PER_CALLER else [])
