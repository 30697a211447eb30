"""Room: in units of cost and by class, decided at once, given back on every path."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apiserver.admission import CLASS_SHARES, RETRY_AFTER_MAX, RETRY_AFTER_MIN, Admission, Demand, QueueBounds
from apiserver.drain import DrainRate
from apiserver.lanes import LONG_SHARE
from shared.cost import CHARS_PER_UNIT
from shared.errors import OverloadedError
from shared.lane import SHORT_UNITS, Lane
from shared.priority import Priority
from tests.apiserver.hand_clock import HandClock

AT_ONCE = 16
FOREVER = 1e9


def admission_of(
    rate: float | None = None, seconds: float = 1.0, max_waiting: int = 300
) -> tuple[Admission, HandClock]:
    """Return a model's room; with a rate that was measured, or none yet."""
    clock = HandClock()
    drain = DrainRate(clock)
    if rate is not None:
        drain.full_begins()
        for _ in range(2000):
            clock.now += 0.01
            drain.done(rate / 100)
        drain.full_ends()
        assert drain.value == pytest.approx(rate, rel=0.01)
    return Admission(AT_ONCE, drain, QueueBounds(seconds, max_waiting)), clock


def short(priority: Priority = Priority.INTERACTIVE, texts: int = 1) -> Demand:
    return Demand.of(["word"] * texts, priority)


def long(units: int, priority: Priority = Priority.INTERACTIVE) -> Demand:
    return Demand.of(["x" * (units * CHARS_PER_UNIT)], priority)


def filled(admission: Admission, demand: Demand, stack: ExitStack) -> tuple[int, OverloadedError]:
    """Admit as many as there is room for; return how many, and how the next was refused."""
    for number in range(10_000):
        try:
            stack.enter_context(admission.permit(demand, FOREVER))
        except OverloadedError as refused:
            return number, refused
    pytest.fail("no bound")


@pytest.mark.parametrize("priority", list(Priority))
@pytest.mark.parametrize("rate", [None, 40.0])
def test_a_class_is_taken_on_up_to_the_batch_and_its_share_of_the_queue(priority: Priority, rate: float | None) -> None:
    admission, _ = admission_of(rate, seconds=2.0)
    with ExitStack() as stack:
        taken, _ = filled(admission, short(priority), stack)
    speed = AT_ONCE if rate is None else rate
    assert taken == pytest.approx(AT_ONCE + 2.0 * speed * CLASS_SHARES[priority], abs=1)


def test_the_queue_is_bounded_whatever_the_rate() -> None:
    admission, _ = admission_of(5000.0, max_waiting=30)
    with ExitStack() as stack:
        assert filled(admission, short(), stack)[0] == AT_ONCE + 30


def test_the_least_urgent_is_refused_first_and_never_stands_before_the_urgent() -> None:
    admission, _ = admission_of(100.0)
    with ExitStack() as stack:
        bulk, _ = filled(admission, short(Priority.BULK), stack)
        standard, _ = filled(admission, short(Priority.STANDARD), stack)
        interactive, _ = filled(admission, short(), stack)
        assert bulk == pytest.approx(AT_ONCE + 50, abs=1)
        assert standard == pytest.approx(AT_ONCE + 75, abs=1)
        assert interactive == pytest.approx(AT_ONCE + 100, abs=1)
        for priority in Priority:
            room = admission.room()[priority]
            assert room.ahead >= room.limit
    with ExitStack() as stack:
        filled(admission, short(), stack)
        for priority in Priority:
            with pytest.raises(OverloadedError), admission.permit(short(priority), FOREVER):
                pytest.fail("admitted")


@pytest.mark.parametrize("demand", [short(texts=1000), long(2000), long(2000, Priority.BULK)])
def test_an_idle_model_takes_any_request(demand: Demand) -> None:
    for rate in (None, 0.5, 100.0):
        admission, _ = admission_of(rate)
        with admission.permit(demand, 1.0):
            assert admission.texts == demand.texts
        assert admission.texts == 0


def test_who_takes_long_may_find_as_much_ahead_as_it_takes_itself() -> None:
    admission, _ = admission_of(50.0)
    with admission.permit(long(200), FOREVER):
        with admission.permit(long(200), FOREVER):
            pass
        with pytest.raises(OverloadedError), admission.permit(long(100), FOREVER):
            pytest.fail("admitted")


def test_of_long_texts_only_their_share_of_the_batch_is_before_short_ones() -> None:
    admission, _ = admission_of(50.0)
    with admission.permit(long(1000), FOREVER):
        assert admission.room()[Priority.INTERACTIVE].ahead == 0
        assert admission.room()[Priority.STANDARD].ahead == AT_ONCE / LONG_SHARE
        with admission.permit(short(Priority.BULK), FOREVER):
            pass


def test_a_request_is_judged_by_its_longest_text() -> None:
    assert Demand.of(["x" * SHORT_UNITS * CHARS_PER_UNIT] * 3, Priority.BULK).lane is Lane.BULK_SHORT
    assert Demand.of(["x", "x" * (SHORT_UNITS * CHARS_PER_UNIT + 1)], Priority.BULK).lane is Lane.BULK_LONG
    assert Demand.of(["x"] * 7, Priority.STANDARD) == Demand(Priority.STANDARD, 7, 7.0, long=False)


def test_what_can_not_be_done_before_its_deadline_is_refused_at_once() -> None:
    admission, _ = admission_of(10.0, seconds=60)
    with admission.permit(short(texts=50), FOREVER):
        with pytest.raises(OverloadedError, match="would take") as refused, admission.permit(short(), 3.0):
            pytest.fail("admitted")
        # 51 - 16 units at 10/s are 3.5 s: half a second later there is time enough.
        assert refused.value.retry_after == RETRY_AFTER_MIN
        with admission.permit(short(), 4.0):
            pass


def test_what_is_done_is_room_again() -> None:
    admission, _ = admission_of(50.0)
    with admission.permit(short(texts=40), FOREVER) as permit:
        before = admission.ahead(Lane.INTERACTIVE_SHORT)
        permit.done(30)
        assert admission.ahead(Lane.INTERACTIVE_SHORT) == before - 30
        permit.done(30)
        assert admission.ahead(Lane.INTERACTIVE_SHORT) == 0
    assert admission.ahead(Lane.INTERACTIVE_SHORT) == 0


@pytest.mark.parametrize("rate", [5.0, 20.0, 400.0])
def test_who_comes_back_after_retry_after_has_room(rate: float) -> None:
    """The work in hand drains at the rate; at the time told there is room again, and not long before."""
    admission, _ = admission_of(rate, max_waiting=10_000)
    with ExitStack() as stack:
        burst = stack.enter_context(admission.permit(short(texts=600), FOREVER))
        with pytest.raises(OverloadedError) as refused, admission.permit(short(), FOREVER):
            pytest.fail("admitted")
        after = refused.value.retry_after
        assert after is not None
        assert RETRY_AFTER_MIN <= after <= RETRY_AFTER_MAX
        burst.done(after * rate)
        room = admission.room()[Priority.INTERACTIVE]
        if after < RETRY_AFTER_MAX:
            assert room.ahead < room.limit
        if RETRY_AFTER_MIN < after < RETRY_AFTER_MAX:
            assert room.limit - room.ahead <= 1.5


def test_an_engine_that_stands_still_has_the_longest_retry_after() -> None:
    admission, _ = admission_of(0.0)
    with ExitStack() as stack:
        taken, refused = filled(admission, short(), stack)
    assert taken == AT_ONCE
    assert refused.retry_after == RETRY_AFTER_MAX


def test_permits_come_back_after_an_error() -> None:
    admission, _ = admission_of()
    with pytest.raises(ZeroDivisionError), admission.permit(short(texts=3), FOREVER):
        raise ZeroDivisionError
    assert (admission.texts, admission.ahead(Lane.BULK_LONG)) == (0, 0)


async def test_permits_come_back_after_a_cancellation() -> None:
    admission, _ = admission_of()

    async def hold() -> None:
        with admission.permit(short(texts=3), FOREVER):
            await asyncio.Event().wait()

    task = asyncio.create_task(hold())
    await asyncio.sleep(0)
    assert admission.texts == 3
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert (admission.texts, admission.ahead(Lane.BULK_LONG)) == (0, 0)


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(list(Priority)), st.integers(1, 40), st.integers(1, 3000), st.floats(0, 50)),
        max_size=25,
    )
)
def test_nothing_is_taken_on_beyond_the_limit_and_nothing_is_left_behind(
    wanted: list[tuple[Priority, int, int, float]],
) -> None:
    admission, _ = admission_of()
    with ExitStack() as stack:
        for priority, texts, chars, done in wanted:
            demand = Demand.of(["x" * chars] * texts, priority)
            before = admission.ahead(demand.lane)
            try:
                permit = stack.enter_context(admission.permit(demand, FOREVER))
            except OverloadedError:
                assert before >= admission.limit(priority)
            else:
                assert before < admission.limit(priority) + (demand.cost if demand.long else 0)
                permit.done(done)
    assert admission.texts == 0
    assert [admission.ahead(lane) for lane in Lane] == [0.0] * len(Lane)
