"""Admission: by units of cost and class, decided at once, returned on every path."""

# pyright: reportPrivateUsage=false
# That nothing is left behind is to be seen only inside.

from __future__ import annotations

import asyncio
from contextlib import ExitStack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apiserver.scheduling.admission import (
    CLASS_SHARES,
    RETRY_AFTER_MAX,
    AdmissionRequest,
    ModelAdmission,
    QueueBounds,
)
from apiserver.scheduling.batch_slots import LONG_SHARE
from apiserver.scheduling.throughput import GAP_SECONDS, ThroughputMeter
from shared.protocol.errors import RETRY_AFTER_MIN, OverloadedError
from shared.protocol.lanes import CHARS_PER_UNIT, SHORT_UNITS, Lane
from shared.protocol.priority import Priority
from tests.apiserver.scheduling.hand_clock import HandClock

BATCH_SIZE = 16
FOREVER = 1e9


def admission_of(
    rate: float | None = None, seconds: float = 1.0, max_waiting: int = 300
) -> tuple[ModelAdmission, HandClock]:
    """Return a model's admission; with a rate that was measured, or none yet."""
    clock = HandClock()
    meter = ThroughputMeter(clock)
    if rate is not None:
        meter.set_fullness(1)
        for _ in range(2000):
            clock.now += 0.01
            meter.done(rate / 100)
        meter.set_fullness(0)
        clock.now += 2 * GAP_SECONDS
        assert meter.rate == pytest.approx(rate, rel=0.01)
    return ModelAdmission(BATCH_SIZE, meter, QueueBounds(seconds, max_waiting)), clock


def short(priority: Priority = Priority.INTERACTIVE, texts: int = 1, caller: str = "") -> AdmissionRequest:
    return AdmissionRequest.of(["word"] * texts, priority, caller)


def long(units: int, priority: Priority = Priority.INTERACTIVE, caller: str = "") -> AdmissionRequest:
    return AdmissionRequest.of(["x" * (units * CHARS_PER_UNIT)], priority, caller)


def filled(admission: ModelAdmission, request: AdmissionRequest, stack: ExitStack) -> tuple[int, OverloadedError]:
    """Admit as many as the model takes; return how many, and how the next was refused."""
    for number in range(10_000):
        try:
            stack.enter_context(admission.admit(request, FOREVER))
        except OverloadedError as refused:
            return number, refused
    pytest.fail("no bound")


@pytest.mark.parametrize("priority", list(Priority))
@pytest.mark.parametrize("rate", [None, 40.0])
def test_class_is_admitted_up_to_its_share_of_the_queue(priority: Priority, rate: float | None) -> None:
    admission, _ = admission_of(rate, seconds=2.0)
    with ExitStack() as stack:
        taken, _ = filled(admission, short(priority), stack)
    speed = BATCH_SIZE if rate is None else rate
    assert taken == pytest.approx(BATCH_SIZE + 2.0 * speed * CLASS_SHARES[priority], abs=1)


def test_queue_is_bounded_whatever_the_rate() -> None:
    admission, _ = admission_of(5000.0, max_waiting=30)
    with ExitStack() as stack:
        assert filled(admission, short(), stack)[0] == BATCH_SIZE + 30


def test_least_urgent_is_refused_first_and_never_ahead() -> None:
    admission, _ = admission_of(100.0)
    with ExitStack() as stack:
        bulk, _ = filled(admission, short(Priority.BULK), stack)
        standard, _ = filled(admission, short(Priority.STANDARD), stack)
        interactive, _ = filled(admission, short(), stack)
        assert bulk == pytest.approx(BATCH_SIZE + 50, abs=1)
        assert standard == pytest.approx(BATCH_SIZE + 75, abs=1)
        assert interactive == pytest.approx(BATCH_SIZE + 100, abs=1)
        for priority in Priority:
            capacity = admission.class_capacities()[priority]
            assert capacity.ahead >= capacity.limit
    with ExitStack() as stack:
        filled(admission, short(), stack)
        for priority in Priority:
            with pytest.raises(OverloadedError), admission.admit(short(priority), FOREVER):
                pytest.fail("admitted")


@pytest.mark.parametrize("admission_request", [short(texts=1000), long(2000), long(2000, Priority.BULK)])
def test_idle_model_admits_any_request(admission_request: AdmissionRequest) -> None:
    for rate in (None, 0.5, 100.0):
        admission, _ = admission_of(rate)
        with admission.admit(admission_request, 1.0):
            assert admission.texts == admission_request.texts
        assert admission.texts == 0


def test_long_request_may_find_its_own_cost_ahead() -> None:
    admission, _ = admission_of(50.0)
    with admission.admit(long(200), FOREVER):
        with admission.admit(long(200), FOREVER):
            pass
        with pytest.raises(OverloadedError), admission.admit(long(100), FOREVER):
            pytest.fail("admitted")


def test_long_texts_ahead_of_short_ones_are_limited() -> None:
    admission, _ = admission_of(50.0)
    with admission.admit(long(1000), FOREVER):
        assert admission.class_capacities()[Priority.INTERACTIVE].ahead == 0
        assert admission.class_capacities()[Priority.STANDARD].ahead == BATCH_SIZE / LONG_SHARE
        with admission.admit(short(Priority.BULK), FOREVER):
            pass


@pytest.mark.parametrize("rate", [None, 50.0])
def test_huge_request_fills_the_model_for_its_caller_only(rate: float | None) -> None:
    admission, _ = admission_of(rate)
    huge = AdmissionRequest.of(["x" * SHORT_UNITS * CHARS_PER_UNIT] * 128, Priority.INTERACTIVE, "greedy")
    with admission.admit(huge, FOREVER):
        for priority in Priority:
            assert admission.class_capacities()[priority].callers == 1
            assert admission.class_capacities()[priority].ahead == huge.cost
            with admission.admit(short(priority, caller="modest"), FOREVER):
                pass
            with pytest.raises(OverloadedError), admission.admit(short(priority, caller="greedy"), FOREVER):
                pytest.fail("admitted")


@pytest.mark.parametrize("flood", list(Priority))
def test_flood_of_long_texts_refuses_no_other_caller(flood: Priority) -> None:
    admission, _ = admission_of()
    with ExitStack() as stack:
        filled(admission, long(9, flood, "greedy"), stack)
        for priority in Priority:
            for request in (long(9, priority, "modest"), short(priority, caller="modest")):
                with admission.admit(request, FOREVER):
                    pass


def test_units_ahead_count_others_up_to_the_callers_own() -> None:
    admission, _ = admission_of()
    with ExitStack() as stack:
        for caller, units in (("a", 2), ("b", 5), ("c", 20)):
            stack.enter_context(admission.admit(short(texts=units, caller=caller), FOREVER))
        lane = Lane.INTERACTIVE_SHORT
        assert admission.ahead(lane, "d", 1) == 1 + 1 + 1
        assert admission.ahead(lane, "d", 10) == 2 + 5 + 10
        assert admission.ahead(lane, "b", 1) == 2 + 5 + 6
        assert admission.ahead(lane, "c", 1) == 2 + 5 + 20
        capacity = admission.class_capacities()[Priority.BULK]
        assert (capacity.ahead, capacity.callers) == (27, 3)


def test_as_many_callers_are_admitted_as_the_limit_has_units() -> None:
    admission, _ = admission_of()
    with ExitStack() as stack:
        for number in range(2 * BATCH_SIZE):
            stack.enter_context(admission.admit(short(caller=str(number)), FOREVER))
        capacity = admission.class_capacities()[Priority.INTERACTIVE]
        assert capacity.callers == capacity.limit
        with pytest.raises(OverloadedError), admission.admit(short(caller="one more"), FOREVER):
            pytest.fail("admitted")


def test_request_is_long_by_its_longest_text() -> None:
    assert AdmissionRequest.of(["x" * SHORT_UNITS * CHARS_PER_UNIT] * 3, Priority.BULK).lane is Lane.BULK_SHORT
    assert AdmissionRequest.of(["x", "x" * (SHORT_UNITS * CHARS_PER_UNIT + 1)], Priority.BULK).lane is Lane.BULK_LONG
    assert AdmissionRequest.of(["x"] * 7, Priority.STANDARD) == AdmissionRequest(Priority.STANDARD, 7, 7.0, long=False)


def test_request_that_misses_its_deadline_is_refused() -> None:
    admission, _ = admission_of(10.0, seconds=60)
    with admission.admit(short(texts=50), FOREVER):
        with pytest.raises(OverloadedError, match="would take") as refused, admission.admit(short(), 3.0):
            pytest.fail("admitted")
        # 51 - 16 units at 10/s are 3.5 s: half a second later there is time enough.
        assert refused.value.retry_after == RETRY_AFTER_MIN
        assert refused.value.facts == {"reason": "late"}
        with admission.admit(short(), 4.0):
            pass


def test_request_too_large_for_its_time_gets_no_wait_for_itself() -> None:
    admission, _ = admission_of(10.0, seconds=60)
    with admission.admit(short(texts=20), FOREVER):
        with pytest.raises(OverloadedError, match="too large") as refused, admission.admit(short(texts=400), 5.0):
            pytest.fail("admitted")
        assert "400 units" in refused.value.detail
        assert "10 units a second" in refused.value.detail
        assert "5.0 s" in refused.value.detail
        assert refused.value.facts == {"reason": "late"}
        assert refused.value.retry_after == pytest.approx(2.0, rel=0.1), "what is ahead, at the rate"
    with admission.admit(short(texts=400), 5.0):
        pass  # an idle model takes any request


def test_finished_units_are_capacity_again() -> None:
    admission, _ = admission_of(50.0)
    with admission.admit(short(texts=40), FOREVER) as permit:
        before = admission.ahead(Lane.INTERACTIVE_SHORT, "", 0)
        permit.done(30)
        assert admission.ahead(Lane.INTERACTIVE_SHORT, "", 0) == before - 30
        permit.done(30)
        assert admission.ahead(Lane.INTERACTIVE_SHORT, "", 0) == 0
    assert admission.ahead(Lane.INTERACTIVE_SHORT, "", 0) == 0


@pytest.mark.parametrize("rate", [5.0, 20.0, 400.0])
def test_caller_is_admitted_after_retry_after(rate: float) -> None:
    """The work in hand drains at the rate; at the time given there is capacity again, and not long before."""
    admission, _ = admission_of(rate, max_waiting=10_000)
    with ExitStack() as stack:
        burst = stack.enter_context(admission.admit(short(texts=600), FOREVER))
        with pytest.raises(OverloadedError) as refused, admission.admit(short(), FOREVER):
            pytest.fail("admitted")
        after = refused.value.retry_after
        assert after is not None
        assert RETRY_AFTER_MIN <= after <= RETRY_AFTER_MAX
        burst.done(after * rate)
        capacity = admission.class_capacities()[Priority.INTERACTIVE]
        if after < RETRY_AFTER_MAX:
            assert capacity.ahead < capacity.limit
        if RETRY_AFTER_MIN < after < RETRY_AFTER_MAX:
            assert capacity.limit - capacity.ahead <= 1.5


def test_stalled_engine_has_the_longest_retry_after() -> None:
    admission, _ = admission_of(0.0)
    with ExitStack() as stack:
        taken, refused = filled(admission, short(), stack)
    assert taken == BATCH_SIZE
    assert refused.facts == {"reason": "full"}
    assert refused.retry_after == RETRY_AFTER_MAX


def test_permit_is_returned_after_an_error() -> None:
    admission, _ = admission_of()
    with pytest.raises(ZeroDivisionError), admission.admit(short(texts=3), FOREVER):
        raise ZeroDivisionError
    assert (admission.texts, admission.ahead(Lane.BULK_LONG, "", 0)) == (0, 0)


async def test_permit_is_returned_after_a_cancellation() -> None:
    admission, _ = admission_of()

    async def hold() -> None:
        with admission.admit(short(texts=3), FOREVER):
            await asyncio.Event().wait()

    task = asyncio.create_task(hold())
    await asyncio.sleep(0)
    assert admission.texts == 3
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert (admission.texts, admission.ahead(Lane.BULK_LONG, "", 0)) == (0, 0)


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(list(Priority)),
            st.sampled_from("abcd"),
            st.integers(1, 40),
            st.integers(1, 3000),
            st.floats(0, 50),
        ),
        max_size=25,
    )
)
def test_admission_keeps_the_limit_and_leaves_nothing(
    wanted: list[tuple[Priority, str, int, int, float]],
) -> None:
    admission, _ = admission_of()
    in_flight = admission._in_flight
    with ExitStack() as stack:
        for priority, caller, texts, chars, done in wanted:
            request = AdmissionRequest.of(["x" * chars] * texts, priority, caller)
            before = admission.ahead(request.lane, caller, request.cost)
            assert in_flight.units_of(caller, Lane(2 * priority.rank)) <= in_flight.units_before(request.lane)
            try:
                permit = stack.enter_context(admission.admit(request, FOREVER))
            except OverloadedError:
                assert before >= admission.limit(priority)
            else:
                assert before < admission.limit(priority) + (request.cost if request.long else 0)
                permit.done(done)
            assert all(
                0 <= capacity.callers <= capacity.ahead + 1e-9 for capacity in admission.class_capacities().values()
            )
    assert admission.texts == 0
    assert len(in_flight) == 0
    assert [in_flight.units_before(lane) for lane in Lane] == [0.0] * len(Lane)
