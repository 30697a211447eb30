"""Batch slots: served in the right order, bounded, and all returned."""

# pyright: reportPrivateUsage=false
# That nothing is left behind is to be seen only inside.

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apiserver.scheduling.batch_slots import (
    BULK_SHARE,
    FAIR_GRANT_INTERVAL,
    LONG_SHARE,
    QUIET_SECONDS,
    SHORT_SEGMENTS,
    BatchSlots,
)
from apiserver.scheduling.fair_queue import SlotRequest
from apiserver.scheduling.throughput import ThroughputMeter
from shared.protocol.lanes import Lane
from tests.apiserver.scheduling.hand_clock import HandClock


class Scene:
    """Slots with takers that hold what they get until they are asked to release it."""

    def __init__(self, batch_size: int, *, overhang: int = 0, meter: ThroughputMeter | None = None) -> None:
        self.clock = HandClock()
        self.slots = BatchSlots(batch_size, self.clock, overhang=overhang, meter=meter)
        self.granted: list[SlotRequest] = []
        self.held: list[SlotRequest] = []
        self.tasks: list[asyncio.Task[None]] = []
        self._turns = 0

    async def request(self, lane: Lane | None, caller: str = "a", turn: int | None = None, times: int = 1) -> None:
        for _ in range(times):
            self._turns += 1
            request = SlotRequest(lane, caller, self._turns if turn is None else turn)
            self.tasks.append(asyncio.create_task(self._acquire(request)))
        await settle()

    async def _acquire(self, request: SlotRequest) -> None:
        await self.slots.acquire(request)
        self.granted.append(request)
        self.held.append(request)

    async def release(self, where: Callable[[SlotRequest], bool] = lambda _: True) -> SlotRequest:
        """Release the oldest matching slot, and return the request that has it next, if any has."""
        request = next(each for each in self.held if where(each))
        self.held.remove(request)
        before = len(self.granted)
        self.slots.release(request)
        await settle()
        return self.granted[before] if len(self.granted) > before else SlotRequest(None, "nobody", 0)

    async def close(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        for request in self.held:
            self.slots.release(request)
        assert_empty(self.slots)


def assert_empty(slots: BatchSlots) -> None:
    assert (slots.held, slots.waiting) == (0, 0)
    assert not any(queue.callers for queue in slots._queues)
    assert (slots._held_long, slots._held_bulk, slots._held_urgent) == (0, 0, 0)


async def settle() -> None:
    for _ in range(4):
        await asyncio.sleep(0)


async def test_free_slot_is_acquired_without_the_event_loop() -> None:
    slots = BatchSlots(4, HandClock())
    request = SlotRequest(Lane.INTERACTIVE_SHORT, "a", 0)
    taking = slots.acquire(request)
    with pytest.raises(StopIteration):
        taking.send(None)
    assert slots.held == 1
    slots.release(request)
    assert_empty(slots)


async def test_canary_passes_a_full_batch() -> None:
    scene = Scene(1)
    await scene.request(Lane.INTERACTIVE_SHORT, times=3)
    await scene.request(None)
    assert [request.lane for request in scene.granted] == [Lane.INTERACTIVE_SHORT, None]
    await scene.close()


async def test_most_urgent_lane_goes_first() -> None:
    scene = Scene(4)
    await scene.request(Lane.INTERACTIVE_SHORT, times=4)
    for lane in reversed(Lane):
        await scene.request(lane)
    order = [(await scene.release()).lane for _ in Lane]
    assert order == [
        Lane.INTERACTIVE_SHORT,
        Lane.INTERACTIVE_LONG,
        Lane.STANDARD_SHORT,
        Lane.BULK_SHORT,  # the long ones' share is held by the interactive one, which goes last
        None,
        Lane.STANDARD_LONG,
    ]
    await scene.close()


async def test_callers_take_turns() -> None:
    scene = Scene(2)
    await scene.request(Lane.INTERACTIVE_SHORT, "greedy", times=200)
    await scene.request(Lane.INTERACTIVE_SHORT, "modest")
    await scene.request(Lane.INTERACTIVE_SHORT, "other", times=3)
    order = [(await scene.release()).caller for _ in range(9)]
    assert order == ["greedy", "modest", "other", "greedy", "other", "greedy", "other", "greedy", "greedy"]
    await scene.close()


async def test_caller_of_single_texts_does_not_starve_others() -> None:
    scene = Scene(1)
    await scene.request(Lane.INTERACTIVE_SHORT, "many", times=20)
    order: list[str] = []
    for _ in range(10):
        if "one" not in scene.slots._queues[Lane.INTERACTIVE_SHORT].callers:
            await scene.request(Lane.INTERACTIVE_SHORT, "one")
        order.append((await scene.release()).caller)
    assert Counter(order) == {"many": 5, "one": 5}
    await scene.close()


async def test_first_text_of_a_caller_goes_first() -> None:
    scene = Scene(4)
    await scene.request(Lane.INTERACTIVE_LONG, turn=1)
    await scene.request(Lane.INTERACTIVE_LONG, turn=3, times=2)
    await scene.request(Lane.INTERACTIVE_LONG, turn=1, times=2)
    await scene.request(Lane.INTERACTIVE_LONG, turn=2)
    assert [(await scene.release()).turn for _ in range(5)] == [1, 1, 2, 3, 3]
    await scene.close()


async def test_segments_of_a_short_text_share_a_turn() -> None:
    scene = Scene(1)
    await scene.request(Lane.INTERACTIVE_SHORT, "held")
    await scene.request(Lane.INTERACTIVE_SHORT, "texts", turn=100, times=4)
    await scene.request(Lane.INTERACTIVE_SHORT, "texts", turn=101, times=2)
    await scene.request(Lane.INTERACTIVE_SHORT, "one", times=5)
    order = [(await scene.release()).caller for _ in range(11)]
    assert order == ["texts"] * 4 + ["one"] * 4 + ["texts"] * 2 + ["one"]
    await scene.close()


async def test_turn_is_no_longer_than_a_short_text() -> None:
    scene = Scene(1)
    await scene.request(Lane.INTERACTIVE_SHORT, "held")
    await scene.request(Lane.INTERACTIVE_SHORT, "greedy", turn=100, times=3 * SHORT_SEGMENTS)
    await scene.request(Lane.INTERACTIVE_SHORT, "modest")
    order = [(await scene.release()).caller for _ in range(SHORT_SEGMENTS + 1)]
    assert order == ["greedy"] * SHORT_SEGMENTS + ["modest"]
    await scene.close()


async def test_long_texts_take_turns_by_segment() -> None:
    scene = Scene(4)
    await scene.request(Lane.INTERACTIVE_LONG, "a", turn=1, times=4)
    await scene.request(Lane.INTERACTIVE_LONG, "b", turn=2, times=3)
    assert [(await scene.release()).caller for _ in range(6)] == ["a", "b", "a", "b", "a", "b"]
    await scene.close()


async def test_long_texts_hold_no_more_than_their_share() -> None:
    scene = Scene(16)
    await scene.request(Lane.INTERACTIVE_LONG, times=20)
    await scene.request(Lane.STANDARD_LONG, times=20)
    assert len(scene.held) == 16 // LONG_SHARE
    await scene.request(Lane.INTERACTIVE_SHORT, times=20)
    assert len(scene.held) == 16
    await scene.close()


async def test_bulk_holds_its_share_beside_urgent_work() -> None:
    scene = Scene(8)
    await scene.request(Lane.STANDARD_SHORT)
    await scene.request(Lane.BULK_SHORT, times=30)
    assert len(scene.held) == 1 + 8 // BULK_SHARE
    await scene.release(lambda request: request.lane is Lane.STANDARD_SHORT)
    scene.clock.now += QUIET_SECONDS / 2
    await scene.release()
    assert len(scene.held) == 8 // BULK_SHARE
    scene.clock.now += QUIET_SECONDS
    await scene.release()
    assert len(scene.held) == 8
    await scene.request(Lane.INTERACTIVE_SHORT, times=8)
    for _ in range(8 - 8 // BULK_SHARE):
        assert (await scene.release(lambda request: request.lane is Lane.BULK_SHORT)).lane is Lane.INTERACTIVE_SHORT
    await scene.close()


async def test_bulk_fills_an_otherwise_idle_engine() -> None:
    scene = Scene(8)
    await scene.request(Lane.BULK_SHORT, times=30)
    assert len(scene.held) == 8
    await scene.close()


async def test_no_lane_starves() -> None:
    scene = Scene(4)
    await scene.request(Lane.INTERACTIVE_SHORT, times=200)
    await scene.request(Lane.STANDARD_SHORT)
    await scene.request(Lane.BULK_SHORT)
    order = [
        (await scene.release(lambda request: request.lane is Lane.INTERACTIVE_SHORT)).lane
        for _ in range(2 * FAIR_GRANT_INTERVAL)
    ]
    assert Counter(order) == {
        Lane.INTERACTIVE_SHORT: 2 * FAIR_GRANT_INTERVAL - 2,
        Lane.STANDARD_SHORT: 1,
        Lane.BULK_SHORT: 1,
    }
    await scene.close()


@settings(deadline=None, max_examples=40)
@given(
    st.sets(st.sampled_from(Lane), min_size=2),
    st.integers(1, 20),
    st.integers(0, 2),
    st.randoms(use_true_random=False),
    st.booleans(),
)
def test_no_lane_starves_when_all_always_wait(
    lanes: set[Lane], batch_size: int, overhang: int, rng: Random, oldest_first: bool
) -> None:
    async def play() -> None:
        scene = Scene(batch_size, overhang=overhang)
        rounds = 5 * len(lanes) * (FAIR_GRANT_INTERVAL + batch_size)
        for _ in range(rounds):
            for lane in lanes:
                if not scene.slots._queues[lane].callers:
                    await scene.request(lane)
            one = scene.held[0 if oldest_first else rng.randrange(len(scene.held))]
            await scene.release(lambda request, one=one: request is one)
        served = Counter(request.lane for request in scene.granted[-rounds // 2 :])
        assert set(served) == lanes, served
        await scene.close()

    asyncio.run(play())


async def test_engine_is_full_while_its_batch_is() -> None:
    clock = HandClock()
    meter = ThroughputMeter(clock)
    scene = Scene(2, overhang=1, meter=meter)

    async def learn() -> bool:
        before = meter._seen_seconds
        clock.now += 1
        meter.done(1)
        return meter._seen_seconds > before

    assert not await learn()
    await scene.request(Lane.INTERACTIVE_SHORT)
    assert not await learn()
    await scene.request(Lane.INTERACTIVE_SHORT, times=4)
    assert len(scene.held) == 3
    for left in (4, 3, 2, 1, 0):
        assert await learn() is (left >= 1)
        if left:
            await scene.release()
    await scene.close()


@pytest.mark.parametrize("lane", [Lane.INTERACTIVE_LONG, Lane.BULK_SHORT])
async def test_rate_is_measured_while_work_waits_for_its_share(lane: Lane) -> None:
    meter = ThroughputMeter(clock := HandClock())
    scene = Scene(16, overhang=2, meter=meter)
    scene.clock.now = 1.0  # its quiet times are not the rate's matter
    await scene.request(Lane.STANDARD_SHORT)
    await scene.request(lane, times=40)
    await scene.release(lambda request: request.lane is Lane.STANDARD_SHORT)
    assert len(scene.held) == 4
    for _ in range(20):
        clock.now += 1
        meter.done(10)
        await scene.release()
    assert meter.rate == pytest.approx(40, rel=0.1), "four of sixteen slots do ten units a second"
    for _ in range(20):
        await scene.release()
    clock.now += 100
    assert meter.rate == pytest.approx(40, rel=0.1), "nothing waits any more"
    await scene.close()


async def test_slot_granted_to_a_cancelled_waiter_is_passed_on() -> None:
    scene = Scene(1)
    await scene.request(Lane.INTERACTIVE_SHORT, times=3)
    scene.tasks[1].cancel()  # it learns of that only at the next turn of the loop
    assert (await scene.release()).turn == 3
    await scene.close()


STEPS = st.one_of(
    st.tuples(st.just("want"), st.sampled_from(Lane), st.sampled_from("abc")),
    st.tuples(st.just("give"), st.integers(0, 50), st.none()),
    st.tuples(st.just("cancel"), st.integers(0, 50), st.none()),
    st.tuples(st.just("cancel and give"), st.integers(0, 50), st.none()),
    st.tuples(st.just("pass"), st.floats(0, 2 * QUIET_SECONDS), st.none()),
)


@settings(deadline=None, max_examples=150)
@given(batch_size=st.integers(1, 9), overhang=st.integers(0, 2), steps=st.lists(STEPS, max_size=60))
def test_slots_are_bounded_never_idle_and_all_returned(
    batch_size: int, overhang: int, steps: list[tuple[str, Lane | int | float, str | None]]
) -> None:
    async def play() -> None:
        scene = Scene(batch_size, overhang=overhang)
        for what, value, caller in steps:
            if what == "want" and isinstance(value, Lane):
                await scene.request(value, caller or "a")
            elif what == "pass":
                scene.clock.now += value
            elif what in {"cancel", "cancel and give"} and scene.tasks:
                scene.tasks[int(value) % len(scene.tasks)].cancel()
                if what == "cancel and give" and scene.held:
                    await scene.release()
                await settle()
            elif what == "give" and scene.held:
                await scene.release()
            slots = scene.slots
            assert slots.held == len(scene.held) <= batch_size + overhang
            assert sum(request.is_long for request in scene.held) <= slots.long_width + 1
            waiting = {lane for lane in Lane if slots._queues[lane].callers}
            if slots.held < batch_size + overhang:
                assert not waiting & {Lane.INTERACTIVE_SHORT, Lane.STANDARD_SHORT}
        await scene.close()

    asyncio.run(play())


@settings(deadline=None, max_examples=60)
@given(st.lists(st.sampled_from("abcd"), min_size=1, max_size=40), st.integers(1, 4))
def test_waiting_callers_stay_within_one_segment(wants: list[str], batch_size: int) -> None:
    async def play() -> None:
        scene = Scene(batch_size)
        await scene.request(Lane.STANDARD_SHORT, "z", times=batch_size)
        for caller in wants:
            await scene.request(Lane.STANDARD_SHORT, caller)
        left, got = Counter(wants), Counter[str]()
        while sum(left.values()):
            caller = (await scene.release()).caller
            left[caller] -= 1
            got[caller] += 1
            both = [name for name in left if left[name]]
            assert all(abs(got[a] - got[b]) <= 1 for a in both for b in both)
        await scene.close()

    asyncio.run(play())


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.sampled_from("abcd"), st.integers(1, 2 * SHORT_SEGMENTS)), min_size=1, max_size=30))
def test_waiting_callers_stay_within_one_short_text(texts: list[tuple[str, int]]) -> None:
    async def play() -> None:
        scene = Scene(1)
        await scene.request(Lane.STANDARD_SHORT, "z")
        left, got = Counter[str](), Counter[str]()
        for turn, (caller, segments) in enumerate(texts):
            await scene.request(Lane.STANDARD_SHORT, caller, turn, segments)
            left[caller] += segments
        while sum(left.values()):
            caller = (await scene.release()).caller
            left[caller] -= 1
            got[caller] += 1
            both = [name for name in left if left[name]]
            assert all(abs(got[a] - got[b]) <= SHORT_SEGMENTS for a in both for b in both)
        await scene.close()

    asyncio.run(play())
