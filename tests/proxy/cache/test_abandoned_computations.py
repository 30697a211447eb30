"""Coalescing of what clients abandoned: it goes on for those who may repeat the request, within limits."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from proxy.cache.coalescing import (
    BYTES_PER_CHAR,
    LONGEST_LINGER_SECONDS,
    MAX_BYTES_IN_ALL,
    MAX_BYTES_PER_CALLER,
    MAX_IN_ALL,
    MAX_PER_CALLER,
    MAX_REPEATERS,
    SHORTEST_TIMEOUT_SECONDS,
    AbandonedComputations,
    ComputationState,
    SharedComputation,
)
from proxy.call import RequestCost, TranslationCall
from proxy.keys.caller import Caller
from shared.languages import LanguagePair
from shared.protocol.errors import UnknownPairError
from shared.protocol.translate_request import TranslateRequest
from shared.runtime.metrics import RequestSample
from tests.proxy.cache.coalescers import HELLO, CoalescerHarness
from tests.support.waiting import wait_until

# No test waits so long.
LINGER = 3600.0
ENGLISH_TO_GERMAN = frozenset({LanguagePair("en", "de")})


async def abandon(
    harness: CoalescerHarness, *, caller: str = "ann", text: str = "Hello", linger_seconds: float = LINGER
) -> asyncio.Task[tuple[bytes, bool]]:
    """Request a text, and leave after the shortest time-out."""
    request = HELLO.model_copy(update={"text": text})
    task = await harness.request(harness.call(request, caller=caller, linger_seconds=linger_seconds))
    harness.clock.now += SHORTEST_TIMEOUT_SECONDS
    await harness.leave(task)
    return task


async def no_longer_shared(harness: CoalescerHarness, left: int = 0) -> None:
    """Wait until others can join no abandoned computation."""
    fingerprint_bytes = 32

    def shared() -> int:
        keys = harness.coalescer._newest  # pyright: ignore[reportPrivateUsage] - not to be seen outside
        return sum(len(key) == fingerprint_bytes for key in keys)

    await wait_until(lambda: shared() == left, LONGEST_LINGER_SECONDS + 1)


async def test_repeat_after_a_timeout_joins(harness: CoalescerHarness) -> None:
    first = await abandon(harness)
    await no_longer_shared(harness)
    repeat = await harness.request(harness.call(linger_seconds=LINGER))
    harness.computations.results[0].set_result(b"Hallo")
    assert await repeat == (b"Hallo", True)
    assert await first == (b"Hallo", False)
    assert (len(harness.computations.calls), len(harness.coalescer)) == (1, 0)


async def test_result_is_kept_for_one_repeat(harness: CoalescerHarness) -> None:
    await abandon(harness)
    await no_longer_shared(harness)
    harness.computations.results[0].set_result(b"Hallo")
    await wait_until(harness.tasks[0].done, 5)
    assert len(harness.coalescer) == 1
    assert await (await harness.request(harness.call(linger_seconds=LINGER))) == (b"Hallo", True)
    assert len(harness.coalescer) == 0
    await harness.request(harness.call(linger_seconds=LINGER))
    assert len(harness.computations.calls) == 2


async def test_states_of_an_abandoned_computation(harness: CoalescerHarness) -> None:
    first = await harness.request(harness.call(linger_seconds=LINGER))
    (computation,) = harness.coalescer._by_task.values()  # pyright: ignore[reportPrivateUsage] - not to be seen outside
    assert computation.state is ComputationState.WANTED
    harness.clock.now += SHORTEST_TIMEOUT_SECONDS
    await harness.leave(first)
    assert computation.state is ComputationState.ABANDONED
    second = await harness.request(harness.call(linger_seconds=LINGER))
    assert computation.state is ComputationState.WANTED
    await harness.leave(second)
    assert computation.state is ComputationState.ABANDONED
    harness.computations.results[0].set_result(b"Hallo")
    await first
    assert computation.state is ComputationState.KEPT
    assert await (await harness.request(harness.call(linger_seconds=LINGER))) == (b"Hallo", True)
    assert computation.state is ComputationState.ENDED


async def test_failure_is_not_kept(harness: CoalescerHarness) -> None:
    await abandon(harness)
    harness.computations.results[0].set_exception(UnknownPairError("en-de", []))
    await wait_until(lambda: not len(harness.coalescer), 5)
    await harness.request(harness.call(linger_seconds=LINGER))
    assert len(harness.computations.calls) == 2


async def test_joiner_that_times_out_may_repeat_too(harness: CoalescerHarness) -> None:
    first = await harness.request()
    second = await harness.request(harness.call(caller="bob", linger_seconds=LINGER))
    harness.clock.now += SHORTEST_TIMEOUT_SECONDS
    await harness.leave(first)
    await harness.leave(second)
    await no_longer_shared(harness)
    repeats = [await harness.request(harness.call(caller=who, linger_seconds=LINGER)) for who in ("bob", "ann")]
    assert len(harness.computations.calls) == 2, "the first did not ask for it"
    harness.computations.results[0].set_result(b"Hallo")
    assert await repeats[0] == (b"Hallo", True)


async def test_others_do_not_join_what_lingers_for_repeats(harness: CoalescerHarness) -> None:
    await abandon(harness)
    await no_longer_shared(harness)
    others = [harness.call(caller="bob", linger_seconds=LINGER), harness.call(pairs=ENGLISH_TO_GERMAN)]
    others.append(harness.call(pairs=ENGLISH_TO_GERMAN, linger_seconds=LINGER))
    tasks = [await harness.request(others[0])]
    harness.computations.results[1].set_result(b"Hi")
    assert await tasks[0] == (b"Hi", False)
    for number, call in enumerate(others[1:], start=2):  # a key whose pairs changed is another caller
        task = await harness.request(call)
        harness.computations.results[number].set_result(b"Hi")
        assert await task == (b"Hi", False)
    harness.computations.results[0].set_result(b"Hallo")
    assert await (await harness.request(harness.call(linger_seconds=LINGER))) == (b"Hallo", True)


async def test_request_left_at_once_is_cancelled_at_once(harness: CoalescerHarness) -> None:
    task = await harness.request(harness.call(linger_seconds=LINGER))
    harness.clock.now += SHORTEST_TIMEOUT_SECONDS / 2
    await harness.leave(task)
    await wait_until(lambda: harness.computations.cancelled, LONGEST_LINGER_SECONDS + 1)


async def test_abandoned_computation_ends_after_its_time(harness: CoalescerHarness) -> None:
    await abandon(harness, linger_seconds=LONGEST_LINGER_SECONDS + 0.2)
    await wait_until(lambda: harness.computations.cancelled, 2 * LONGEST_LINGER_SECONDS + 2)
    await wait_until(lambda: not len(harness.coalescer), 5)


async def test_kept_result_ends_after_its_time(harness: CoalescerHarness) -> None:
    await abandon(harness, linger_seconds=LONGEST_LINGER_SECONDS)
    harness.computations.results[0].set_result(b"Hallo")
    await wait_until(lambda: not len(harness.coalescer), LONGEST_LINGER_SECONDS + 2)


async def test_draining_ends_what_lingers(harness: CoalescerHarness) -> None:
    await abandon(harness)
    await no_longer_shared(harness)
    harness.is_draining = True
    await wait_until(lambda: harness.computations.cancelled, LONGEST_LINGER_SECONDS + 1)


async def test_oldest_of_too_many_is_cancelled(harness: CoalescerHarness) -> None:
    for number in range(MAX_PER_CALLER + 1):
        await abandon(harness, text=f"text {number}")
    await wait_until(lambda: harness.computations.cancelled == 1, 5)
    await wait_until(lambda: len(harness.coalescer) == MAX_PER_CALLER, 5)
    assert harness.computations.results[0].cancelled()


async def test_kept_results_count_as_well(harness: CoalescerHarness) -> None:
    for number in range(MAX_PER_CALLER):
        await abandon(harness, text=f"text {number}")
        harness.computations.results[number].set_result(b"x")
    await asyncio.gather(*harness.tasks)
    assert len(harness.coalescer) == MAX_PER_CALLER
    await abandon(harness)
    assert len(harness.coalescer) == MAX_PER_CALLER
    await harness.request(harness.call(HELLO.model_copy(update={"text": "text 0"}), linger_seconds=LINGER))
    assert len(harness.computations.calls) == MAX_PER_CALLER + 2, "the oldest was dropped"


async def test_result_too_large_is_kept_only_for_a_moment(harness: CoalescerHarness) -> None:
    await abandon(harness)
    harness.computations.results[0].set_result(b"x" * 5 * 1024 * 1024)
    await wait_until(lambda: not len(harness.coalescer), LONGEST_LINGER_SECONDS + 2)


async def test_callers_who_may_repeat_are_limited(harness: CoalescerHarness) -> None:
    calls = [harness.call(caller=f"caller {n}", linger_seconds=LINGER) for n in range(MAX_REPEATERS + 1)]
    tasks = [await harness.request(call) for call in calls]
    harness.clock.now += SHORTEST_TIMEOUT_SECONDS
    for task in tasks:
        await harness.leave(task)
    await no_longer_shared(harness)
    await harness.request(harness.call(caller=f"caller {MAX_REPEATERS - 1}", linger_seconds=LINGER))
    assert len(harness.computations.calls) == 1
    await harness.request(harness.call(caller=f"caller {MAX_REPEATERS}", linger_seconds=LINGER))
    assert len(harness.computations.calls) == 2


@pytest.mark.parametrize(("caller", "pairs"), [("bob", ENGLISH_TO_GERMAN), ("ann", None)])
async def test_private_computation_is_for_its_caller_only(
    harness: CoalescerHarness, caller: str, pairs: frozenset[LanguagePair] | None
) -> None:
    request = TranslateRequest(text="Hello", source_lang="auto", target_lang="de")

    def call(caller: str = "ann", pairs: frozenset[LanguagePair] | None = ENGLISH_TO_GERMAN) -> TranslationCall:
        return harness.call(request, caller=caller, pairs=pairs, linger_seconds=LINGER)

    first = await harness.request(call(), is_private=True)
    another = await harness.request(call(caller, pairs), is_private=True)
    shared = await harness.request(call("carol", None))
    assert len(harness.computations.calls) == 3
    harness.clock.now += SHORTEST_TIMEOUT_SECONDS
    await harness.leave(another)
    repeat = await harness.request(call(caller, pairs), is_private=True)
    for result, text in zip(harness.computations.results, (b"first", b"another", b"shared"), strict=True):
        result.set_result(text)
    assert await asyncio.gather(first, repeat, shared) == [(b"first", False), (b"another", True), (b"shared", False)]


async def abandoned(count: int, *, caller: str = "ann", size: int = 0) -> list[SharedComputation]:
    task = asyncio.current_task()
    assert task is not None
    who = Caller(caller)
    cost = RequestCost(1.0, chars=size // BYTES_PER_CHAR)
    sample = RequestSample()
    return [
        SharedComputation(b"", who, cost, sample, task, 0.0, is_private=False, cancel=task.cancel, repeaters=(who,))
        for _ in range(count)
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
