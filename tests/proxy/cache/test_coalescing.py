"""RequestCoalescer: equal requests share one computation; each keeps its own deadline and errors."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from proxy.cache.coalescing import LONGEST_LINGER_SECONDS, MAX_JOINED, WORTHWHILE_SECONDS
from shared.protocol.errors import DeadlineExceededError, OverloadedError, PairwayError, RelayedError, UnknownPairError
from shared.protocol.priority import Priority
from shared.runtime.metrics import RequestSample
from tests.proxy.cache.coalescers import HELLO, CoalescerHarness
from tests.support.waiting import wait_until


async def test_equal_requests_cost_one_computation(harness: CoalescerHarness) -> None:
    tasks = [await harness.request() for _ in range(50)]
    harness.computations.results[0].set_result(b"Hallo")
    answers = await asyncio.gather(*tasks)
    assert len(harness.computations.calls) == 1
    assert {body for body, _ in answers} == {b"Hallo"}
    assert sorted(joined for _, joined in answers) == [False] + [True] * 49


async def test_finished_computation_is_not_kept(harness: CoalescerHarness) -> None:
    for number in range(2):
        task = await harness.request()
        harness.computations.results[number].set_result(b"Hallo")
        assert await task == (b"Hallo", False)
        assert len(harness.coalescer) == 0


async def test_every_waiter_gets_the_pair_and_the_replicas(harness: CoalescerHarness) -> None:
    calls = [harness.call(), harness.call()]
    tasks = [await harness.request(call) for call in calls]
    harness.computations.calls[0].sample.replicas.append("http://one")
    harness.computations.results[0].set_result(b"Hallo")
    await asyncio.gather(*tasks)
    assert [call.sample for call in calls] == [RequestSample("en-de", "en-de", ["http://one"])] * 2
    assert calls[0].sample.replicas is not calls[1].sample.replicas


async def test_first_waiter_leaves_and_the_others_stay(harness: CoalescerHarness) -> None:
    first, second = await harness.request(), await harness.request()
    await harness.leave(first)
    harness.computations.results[0].set_result(b"Hallo")
    assert await second == (b"Hallo", True)
    assert await first == (b"Hallo", False), "its task was the computation"
    assert (harness.computations.cancelled, len(harness.coalescer)) == (0, 0)


async def test_ended_request_is_computed_by_who_joined_it(harness: CoalescerHarness) -> None:
    first, *joined = [await harness.request() for _ in range(3)]
    first.cancel()
    await harness.computations.count(2)
    harness.computations.results[1].set_result(b"Hallo")
    assert sorted(await asyncio.gather(*joined)) == [(b"Hallo", False), (b"Hallo", True)]


async def test_computation_goes_on_for_who_joins_a_lingering_one(harness: CoalescerHarness) -> None:
    first = await harness.request()
    harness.clock.now += 10
    await harness.leave(first)
    second = await harness.request()
    third = await harness.request()
    await harness.leave(second)
    assert (len(harness.computations.calls), harness.computations.cancelled) == (1, 0)
    harness.computations.results[0].set_result(b"Hallo")
    assert await third == (b"Hallo", True)


async def test_computation_is_cancelled_when_the_last_waiter_leaves(harness: CoalescerHarness) -> None:
    tasks = [await harness.request() for _ in range(3)]
    harness.clock.now += 3600
    for task in tasks[:2]:
        await harness.leave(task)
    assert harness.computations.cancelled == 0
    await harness.leave(tasks[2])
    await wait_until(lambda: harness.computations.cancelled, LONGEST_LINGER_SECONDS + 1, "cancelled")
    await wait_until(lambda: not len(harness.coalescer), 5, "it is forgotten once its task is done")


async def test_repeated_request_joins_the_lingering_computation(harness: CoalescerHarness) -> None:
    task = await harness.request()
    for _ in range(5):
        harness.clock.now += 3  # the time that it was waited for earns the time that it goes on
        await harness.leave(task)
        task = await harness.request()
    harness.computations.results[0].set_result(b"Hallo")
    assert await task == (b"Hallo", True)
    assert len(harness.computations.calls) == 1


async def test_result_between_two_requests_is_kept_for_the_second(harness: CoalescerHarness) -> None:
    task = await harness.request()
    harness.clock.now += 10
    await harness.leave(task)
    harness.computations.results[0].set_result(b"Hallo")
    await task
    assert await (await harness.request()) == (b"Hallo", True)
    assert len(harness.coalescer) == 0


async def test_failure_between_two_requests_is_forgotten(harness: CoalescerHarness) -> None:
    task = await harness.request()
    harness.clock.now += 10
    await harness.leave(task)
    harness.computations.results[0].set_exception(UnknownPairError("en-de", []))
    await wait_until(lambda: not len(harness.coalescer), 5)
    await harness.request()
    assert len(harness.computations.calls) == 2


async def test_closing_cancels_all_computations() -> None:
    harness = CoalescerHarness()
    async with harness.coalescer.closing():
        waiting, lingering = (
            await harness.request(),
            await harness.request(harness.call(HELLO.model_copy(update={"text": "Bye"}))),
        )
        harness.clock.now += 10
        await harness.leave(lingering)
    assert harness.computations.cancelled == 2
    assert waiting.done() or (await asyncio.wait({waiting}, timeout=1))[0]
    assert len(harness.coalescer) == 0


async def test_shorter_deadline_ends_only_its_own_wait(harness: CoalescerHarness) -> None:
    patient, hasty = await harness.request(), await harness.request(harness.call(seconds=0.05))
    with pytest.raises(DeadlineExceededError, match=r"0\.05 s"):
        await hasty
    assert not patient.done()
    harness.computations.results[0].set_result(b"Hallo")
    assert await patient == (b"Hallo", False)


async def test_computation_with_a_shorter_deadline_is_restarted(harness: CoalescerHarness) -> None:
    hasty, *patient = [await harness.request(harness.call(seconds=seconds)) for seconds in (0.05, 30, 30)]
    harness.computations.results[0].set_exception(harness.computations.calls[0].deadline.exceeded_error())
    with pytest.raises(DeadlineExceededError):
        await hasty
    await harness.computations.count(2)
    assert harness.computations.calls[1].deadline.seconds == 30
    harness.computations.results[1].set_result(b"Hallo")
    assert sorted(await asyncio.gather(*patient)) == [(b"Hallo", False), (b"Hallo", True)]


async def test_computation_is_not_restarted_with_little_time_left(harness: CoalescerHarness) -> None:
    await harness.request()
    joined = await harness.request(harness.call(seconds=WORTHWHILE_SECONDS / 2))
    harness.computations.results[0].set_exception(harness.computations.calls[0].deadline.exceeded_error())
    with pytest.raises(DeadlineExceededError, match=f"{WORTHWHILE_SECONDS / 2:g} s"):
        await joined
    assert len(harness.computations.calls) == 1


@pytest.mark.parametrize(
    ("other", "shared"),
    [
        ({"caller": "bob"}, False),
        ({"priority": Priority.BULK}, False),
        ({}, True),
    ],
)
async def test_overload_is_shared_by_equal_callers_and_priorities(
    harness: CoalescerHarness, other: dict[str, Any], shared: bool
) -> None:
    first, second = await harness.request(), await harness.request(harness.call(**other))
    harness.computations.results[0].set_exception(OverloadedError("Full.", retry_after=3))
    with pytest.raises(OverloadedError):
        await first
    if shared:
        with pytest.raises(OverloadedError):
            await second
    else:
        await harness.computations.count(2)
        harness.computations.results[1].set_result(b"Hallo")
        assert await second == (b"Hallo", False)


async def test_request_computes_alone_after_two_failed_joins(harness: CoalescerHarness) -> None:
    assert MAX_JOINED == 2
    waiting = [await harness.request(harness.call(caller=who)) for who in ("first", "bob", "ann")]
    harness.computations.results[0].set_exception(OverloadedError("Full.", retry_after=3))
    await harness.computations.count(2)  # bob's, and ann joined him
    harness.computations.results[1].set_exception(OverloadedError("Full.", retry_after=3))
    await harness.computations.count(3)
    assert harness.computations.calls[2].caller.identity == "ann"
    await harness.request()
    await harness.computations.count(4)  # nobody joins who goes alone
    harness.computations.results[2].set_result(b"Hallo")
    assert await waiting[2] == (b"Hallo", False)


async def test_urgent_request_does_not_join_a_less_urgent_one(harness: CoalescerHarness) -> None:
    bulk = await harness.request(harness.call(priority=Priority.BULK))
    urgent = await harness.request()
    later = await harness.request(harness.call(priority=Priority.BULK))
    assert [call.priority for call in harness.computations.calls] == [Priority.BULK, Priority.INTERACTIVE]
    harness.computations.results[1].set_result(b"Hallo")
    assert await urgent == (b"Hallo", False)
    assert await later == (b"Hallo", True)
    assert not bulk.done()
    harness.computations.results[0].set_result(b"Hallo.")
    assert await bulk == (b"Hallo.", False)


ERRORS = (
    UnknownPairError("en-de", ["en-fr"]),
    RelayedError(code="unusable-output", http_status=502, title="No", detail="None.", facts={"a": 1}),
    OverloadedError("Full.", retry_after=3),
)


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.code)
async def test_failure_is_copied_for_every_waiter(harness: CoalescerHarness, error: PairwayError) -> None:
    tasks = [await harness.request() for _ in range(3)]
    harness.computations.results[0].set_exception(error)
    raised = await asyncio.gather(*tasks, return_exceptions=True)
    facts = dict(error.facts)  # the first request raises the very error
    expected = (type(error), error.code, error.http_status, error.title, error.detail, error.retry_after, facts)
    for each in raised:
        assert isinstance(each, PairwayError)
        assert (
            type(each),
            each.code,
            each.http_status,
            each.title,
            each.detail,
            each.retry_after,
            each.facts,
        ) == expected
        assert str(each) == str(error)
        each.detail = "mine"
        each.facts["request"] = "mine"
    assert len({id(each) for each in raised}) == 3
    assert len(harness.computations.calls) == 1


async def test_internal_error_reaches_every_waiter(harness: CoalescerHarness) -> None:
    tasks = [await harness.request() for _ in range(2)]
    harness.computations.results[0].set_exception(ZeroDivisionError())
    assert [type(each) for each in await asyncio.gather(*tasks, return_exceptions=True)] == [ZeroDivisionError] * 2


async def test_long_texts_are_coalesced_too(harness: CoalescerHarness) -> None:
    long = HELLO.model_copy(update={"text": "word " * 40_000})
    tasks = [await harness.request(harness.call(long)) for _ in range(5)]
    await harness.computations.count(1)
    # Each is hashed in a thread of its own: those who are late would begin again.
    await wait_until(lambda: sum(each.joiners for each in harness.coalescer._by_task.values()) == 4, 10, "all wait")  # pyright: ignore[reportPrivateUsage] - not to be seen outside
    harness.computations.results[0].set_result(b"Wort")
    assert {body for body, _ in await asyncio.gather(*tasks)} == {b"Wort"}
    assert len(harness.computations.calls) == 1
