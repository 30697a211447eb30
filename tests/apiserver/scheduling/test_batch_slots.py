"""Batch slots: served in the right order, bounded, and all returned."""

# pyright: reportPrivateUsage=false
# That nothing is left behind is to be seen only inside.

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.scheduling.batch_slots import BULK_SHARE, LONG_LANES, LONG_SHARE, STRIDES, BatchSlots
from apiserver.scheduling.throughput import ThroughputMeter
from shared.protocol.priority import Lane
from tests.apiserver.work_items import work_of
from tests.support.clock import HandClock


class Taker(NamedTuple):
    """Who wants a slot."""

    lane: Lane | None
    caller: str
    turn: int


class Scene:
    """Slots with takers that hold what they get until they are asked to release it."""

    def __init__(self, batch_size: int, *, overhang: int = 0, meter: ThroughputMeter | None = None) -> None:
        self.slots = BatchSlots(batch_size, overhang=overhang, meter=meter)
        self.granted: list[Taker] = []
        self.held: list[Taker] = []
        self.tasks: list[asyncio.Task[None]] = []
        self._turns = 0

    async def request(self, lane: Lane, caller: str = "a", turn: int | None = None, times: int = 1) -> None:
        for _ in range(times):
            self._turns += 1
            taker = Taker(lane, caller, self._turns if turn is None else turn)
            self.tasks.append(asyncio.create_task(self._acquire(lane, taker)))
        await settle()

    async def _acquire(self, lane: Lane, taker: Taker) -> None:
        await self.slots.acquire(lane, work_of(caller=taker.caller), taker.turn)
        self.granted.append(taker)
        self.held.append(taker)

    async def release(self, where: Callable[[Taker], bool] = lambda _: True) -> Taker:
        """Release the oldest matching slot, and return the taker that has it next, if any has."""
        taker = next(each for each in self.held if where(each))
        before = len(self.granted)
        self._give_back(taker)
        await settle()
        return self.granted[before] if len(self.granted) > before else Taker(None, "nobody", 0)

    async def close(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        for taker in self.held.copy():
            self._give_back(taker)
        assert_empty(self.slots)

    def _give_back(self, taker: Taker) -> None:
        assert taker.lane is not None
        self.held.remove(taker)
        self.slots.release(taker.lane)


def assert_empty(slots: BatchSlots) -> None:
    assert (slots.held, slots.waiting) == (0, 0)
    assert not any(slots._queues)
    assert not any(slots._held_by_lane)


async def settle() -> None:
    for _ in range(4):
        await asyncio.sleep(0)


async def test_free_slot_is_acquired_without_the_event_loop() -> None:
    slots = BatchSlots(4)
    taking = slots.acquire(Lane.INTERACTIVE_SHORT, work_of(), 0)
    with pytest.raises(StopIteration):
        taking.send(None)
    assert slots.held == 1
    slots.release(Lane.INTERACTIVE_SHORT)
    assert_empty(slots)


async def test_most_urgent_lane_goes_first() -> None:
    scene = Scene(4)
    await scene.request(Lane.INTERACTIVE_SHORT, times=4)
    for lane in reversed(Lane):
        await scene.request(lane)
    order = [(await scene.release()).lane for _ in Lane]
    assert order == list(Lane)
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
        if "one" not in scene.slots._queues[Lane.INTERACTIVE_SHORT]:
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


async def test_long_texts_take_turns_by_segment() -> None:
    scene = Scene(4)
    await scene.request(Lane.INTERACTIVE_LONG, "a", turn=1, times=4)
    await scene.request(Lane.INTERACTIVE_LONG, "b", turn=2, times=3)
    assert [(await scene.release()).caller for _ in range(6)] == ["a", "b", "a", "b", "a", "b"]
    await scene.close()


async def test_long_texts_hold_no_more_than_their_share() -> None:
    scene = Scene(16)
    await scene.request(Lane.INTERACTIVE_LONG, times=20)
    assert len(scene.held) == 16 // LONG_SHARE
    await scene.request(Lane.STANDARD_LONG, times=20)
    await scene.request(Lane.BULK_LONG, times=20)
    assert len(scene.held) == 16 // LONG_SHARE + 1, "one beyond it, for a lane that holds none"
    await scene.request(Lane.INTERACTIVE_SHORT, times=20)
    assert len(scene.held) == 16
    await scene.close()


async def test_bulk_holds_its_share_beside_urgent_work() -> None:
    scene = Scene(8)
    await scene.request(Lane.STANDARD_SHORT)
    await scene.request(Lane.BULK_SHORT, times=30)
    assert len(scene.held) == 1 + 8 // BULK_SHARE
    await scene.release(lambda taker: taker.lane is Lane.STANDARD_SHORT)
    assert len(scene.held) == 8
    await scene.request(Lane.INTERACTIVE_SHORT, times=8)
    for _ in range(8 - 8 // BULK_SHARE):
        assert (await scene.release(lambda taker: taker.lane is Lane.BULK_SHORT)).lane is Lane.INTERACTIVE_SHORT
    await scene.close()


async def test_bulk_goes_on_when_urgent_work_gives_up_waiting() -> None:
    scene = Scene(8)
    await scene.request(Lane.INTERACTIVE_LONG, times=3)
    await scene.request(Lane.BULK_SHORT, times=30)
    assert len(scene.held) == 4
    scene.tasks[2].cancel()
    for _ in range(2):
        await scene.release(lambda taker: taker.lane is Lane.INTERACTIVE_LONG)
    assert len(scene.held) == 8
    await scene.close()


async def test_bulk_fills_an_otherwise_idle_engine() -> None:
    scene = Scene(8)
    await scene.request(Lane.BULK_SHORT, times=30)
    assert len(scene.held) == 8
    await scene.close()


async def test_each_lane_has_its_part_while_all_wait() -> None:
    scene = Scene(4)
    lanes = (Lane.INTERACTIVE_SHORT, Lane.STANDARD_SHORT, Lane.BULK_SHORT)
    for lane in lanes:
        await scene.request(lane, times=200)
    served = Counter([(await scene.release()).lane for _ in range(160)])
    parts = {lane: 160 / STRIDES[lane] / sum(1 / STRIDES[each] for each in lanes) for lane in lanes}
    assert served == {lane: pytest.approx(part, abs=2) for lane, part in parts.items()}
    await scene.close()


async def test_lane_that_waited_for_nothing_saves_no_turns() -> None:
    scene = Scene(1)
    await scene.request(Lane.INTERACTIVE_SHORT, times=50)
    for _ in range(40):
        await scene.release()
    await scene.request(Lane.BULK_SHORT, times=10)
    order = [(await scene.release()).lane for _ in range(4)]
    assert order.count(Lane.BULK_SHORT) <= 1
    await scene.close()


@pytest.mark.no_cover
@given(
    st.sets(st.sampled_from(Lane), min_size=2),
    st.integers(1, 10),
    st.integers(0, 2),
    st.randoms(use_true_random=False),
    st.booleans(),
)
def test_no_lane_starves_when_all_always_wait(
    lanes: set[Lane], batch_size: int, overhang: int, rng: Random, oldest_first: bool
) -> None:
    async def play() -> None:
        scene = Scene(batch_size, overhang=overhang)
        rounds = 5 * len(lanes) * (max(STRIDES) + batch_size)
        for _ in range(rounds):
            for lane in lanes:
                if not scene.slots._queues[lane]:
                    await scene.request(lane)
            one = scene.held[0 if oldest_first else rng.randrange(len(scene.held))]
            await scene.release(lambda taker, one=one: taker is one)
        served = Counter(taker.lane for taker in scene.granted[-rounds // 2 :])
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


@pytest.mark.parametrize("lane", [Lane.INTERACTIVE_LONG, Lane.BULK_LONG])
async def test_rate_is_measured_while_work_waits_for_its_share(lane: Lane) -> None:
    meter = ThroughputMeter(clock := HandClock())
    scene = Scene(16, overhang=2, meter=meter)
    await scene.request(lane, times=40)
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
)


@given(batch_size=st.integers(1, 9), overhang=st.integers(0, 2), steps=st.lists(STEPS, max_size=60))
def test_slots_are_bounded_never_idle_and_all_returned(
    batch_size: int, overhang: int, steps: list[tuple[str, Lane | int, str | None]]
) -> None:
    async def play() -> None:
        scene = Scene(batch_size, overhang=overhang)
        for what, value, caller in steps:
            if what == "want" and isinstance(value, Lane):
                await scene.request(value, caller or "a")
            elif what in {"cancel", "cancel and give"} and scene.tasks:
                scene.tasks[int(value) % len(scene.tasks)].cancel()
                if what == "cancel and give" and scene.held:
                    await scene.release()
                await settle()
            elif what == "give" and scene.held:
                await scene.release()
            slots = scene.slots
            assert slots.held == len(scene.held) <= batch_size + overhang
            assert sum(taker.lane in LONG_LANES for taker in scene.held) <= slots.long_width + 1
            waiting = {lane for lane in Lane if slots._queues[lane]}
            if slots.held < batch_size + overhang:
                assert not waiting & {Lane.INTERACTIVE_SHORT, Lane.STANDARD_SHORT}
        await scene.close()

    asyncio.run(play())


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


async def test_lane_that_was_held_back_gives_newcomers_no_head_start() -> None:
    scene = Scene(4)
    await scene.request(Lane.INTERACTIVE_LONG, times=4)
    await scene.request(Lane.INTERACTIVE_SHORT, times=80)
    for _ in range(60):  # the long ones have their one slot: their lane falls behind
        await scene.release(lambda taker: taker.lane is Lane.INTERACTIVE_SHORT)
    await scene.release(lambda taker: taker.lane is Lane.INTERACTIVE_LONG)
    await scene.request(Lane.STANDARD_SHORT, times=20)
    granted = [(await scene.release()).lane for _ in range(6)]
    assert granted.count(Lane.INTERACTIVE_SHORT) >= 3, granted
    await scene.close()
