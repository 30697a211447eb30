"""Admission: by units of cost and class, decided at once, returned on every path."""

# pyright: reportPrivateUsage=false
# That nothing is left behind is to be seen only inside.

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import ExitStack, contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.metrics import ApiServerMetrics
from apiserver.scheduling.admission import (
    CLASS_SHARES,
    FULL_BATCH_SLOWDOWN,
    MAX_BATCHES_PER_SECOND,
    RETRY_AFTER_MAX,
    InFlightLedger,
    ModelAdmission,
    QueueBounds,
)
from apiserver.scheduling.batch_slots import LONG_SHARE
from apiserver.scheduling.throughput import GAP_SECONDS
from apiserver.scheduling.work_item import WorkItem
from shared.protocol.errors import RETRY_AFTER_MIN, OverloadedError
from shared.protocol.priority import CHARS_PER_UNIT, SHORT_UNITS, Lane, Priority
from shared.protocol.report import ModelReport
from tests.apiserver.work_items import work_of
from tests.support.clock import HandClock

BATCH_SIZE = 16


def admission_of(
    rate: float | None = None, seconds: float = 1.0, max_waiting: int = 300
) -> tuple[ModelAdmission, HandClock]:
    """Return a model's admission; with a rate that was measured, or none yet."""
    clock = HandClock()
    admission = ModelAdmission(BATCH_SIZE, QueueBounds(seconds, max_waiting), clock)
    if rate is not None:
        admission.meter.set_fullness(1)
        for _ in range(2000):
            clock.now += 0.01
            admission.meter.done(rate / 100)
        admission.meter.set_fullness(0)
        clock.now += 2 * GAP_SECONDS
        assert admission.meter.rate == pytest.approx(rate, rel=0.01)
    return admission, clock


def short(
    priority: Priority = Priority.INTERACTIVE, texts: int = 1, caller: str = "", seconds: float = 1e6
) -> WorkItem:
    return work_of(["word"] * texts, priority, caller, seconds=seconds)


def long(units: int, priority: Priority = Priority.INTERACTIVE, caller: str = "") -> WorkItem:
    return work_of("x" * (units * CHARS_PER_UNIT), priority, caller)


@contextmanager
def admitted(admission: ModelAdmission, work: WorkItem) -> Generator[WorkItem]:
    """Hold a request's capacity while the block lasts."""
    admission.admit(work)
    try:
        yield work
    finally:
        admission.release(work)


def filled(admission: ModelAdmission, work: WorkItem, stack: ExitStack) -> tuple[int, OverloadedError]:
    """Admit as many as the model takes; return how many, and how the next was refused."""
    for number in range(10_000):
        one = work_of(list(work.texts), work.priority, work.caller)
        try:
            stack.enter_context(admitted(admission, one))
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
            with pytest.raises(OverloadedError):
                admission.admit(short(priority))


@pytest.mark.parametrize("text", [["word"] * 1000, "x" * 2000 * CHARS_PER_UNIT])
@pytest.mark.parametrize("priority", [Priority.INTERACTIVE, Priority.BULK])
def test_idle_model_admits_any_request(text: str | list[str], priority: Priority) -> None:
    work = work_of(text, priority, seconds=1.0)
    for rate in (None, 0.5, 100.0):
        admission, _ = admission_of(rate)
        with admitted(admission, work):
            assert admission.texts == len(work.texts)
        assert admission.texts == 0


def test_long_request_may_find_its_own_cost_ahead() -> None:
    admission, _ = admission_of(50.0)
    with admitted(admission, long(200)):
        with admitted(admission, long(200)):
            pass
        with pytest.raises(OverloadedError):
            admission.admit(long(100))


def test_long_texts_ahead_of_short_ones_are_limited() -> None:
    admission, _ = admission_of(50.0)
    with admitted(admission, long(1000)):
        assert admission.class_capacities()[Priority.INTERACTIVE].ahead == 0
        assert admission.class_capacities()[Priority.STANDARD].ahead == BATCH_SIZE / LONG_SHARE
        with admitted(admission, short(Priority.BULK)):
            pass


@pytest.mark.parametrize("rate", [None, 50.0])
def test_huge_request_fills_the_model_for_its_caller_only(rate: float | None) -> None:
    admission, _ = admission_of(rate)
    huge = work_of(["x" * SHORT_UNITS * CHARS_PER_UNIT] * 128, caller="greedy")
    with admitted(admission, huge):
        for priority in Priority:
            assert admission.class_capacities()[priority].callers == 1
            assert admission.class_capacities()[priority].ahead == huge.cost
            with admitted(admission, short(priority, caller="modest")):
                pass
            with pytest.raises(OverloadedError):
                admission.admit(short(priority, caller="greedy"))


@pytest.mark.parametrize("flood", list(Priority))
def test_flood_of_long_texts_refuses_no_other_caller(flood: Priority) -> None:
    admission, _ = admission_of()
    with ExitStack() as stack:
        filled(admission, long(9, flood, "greedy"), stack)
        for priority in Priority:
            for request in (long(9, priority, "modest"), short(priority, caller="modest")):
                with admitted(admission, request):
                    pass


def test_units_ahead_count_others_up_to_the_callers_own() -> None:
    admission, _ = admission_of()
    with ExitStack() as stack:
        for caller, units in (("a", 2), ("b", 5), ("c", 20)):
            stack.enter_context(admitted(admission, short(texts=units, caller=caller)))
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
            stack.enter_context(admitted(admission, short(caller=str(number))))
        capacity = admission.class_capacities()[Priority.INTERACTIVE]
        assert capacity.callers == capacity.limit
        with pytest.raises(OverloadedError):
            admission.admit(short(caller="one more"))


def test_request_that_misses_its_deadline_is_refused() -> None:
    admission, _ = admission_of(10.0, seconds=60)
    with admitted(admission, short(texts=50)):
        with pytest.raises(OverloadedError, match="would take") as refused:
            admission.admit(short(seconds=3.0))
        # 51 - 16 units at 10/s are 3.5 s: half a second later there is time enough.
        assert refused.value.retry_after == RETRY_AFTER_MIN
        assert refused.value.facts == {"reason": "late"}
        with admitted(admission, short(seconds=4.0)):
            pass


def test_request_too_large_for_its_time_gets_no_wait_for_itself() -> None:
    admission, _ = admission_of(10.0, seconds=60)
    with admitted(admission, short(texts=20)):
        with pytest.raises(OverloadedError, match="too large") as refused:
            admission.admit(short(texts=400, seconds=5.0))
        assert "400 units" in refused.value.detail
        assert "10 units a second" in refused.value.detail
        assert "5.0 s" in refused.value.detail
        assert refused.value.facts == {"reason": "late"}
        assert refused.value.retry_after == pytest.approx(2.0, rel=0.1), "what is ahead, at the rate"
    with admitted(admission, short(texts=400, seconds=5.0)):
        pass  # an idle model takes any request


def test_finished_units_are_capacity_again() -> None:
    admission, _ = admission_of(50.0)
    with admitted(admission, short(texts=40)) as work:
        before = admission.ahead(Lane.INTERACTIVE_SHORT, "", 0)
        admission.finish(work, 30)
        assert admission.ahead(Lane.INTERACTIVE_SHORT, "", 0) == before - 30
        admission.finish(work, 30)
        assert admission.ahead(Lane.INTERACTIVE_SHORT, "", 0) == 0
    assert admission.ahead(Lane.INTERACTIVE_SHORT, "", 0) == 0


@pytest.mark.parametrize("rate", [5.0, 20.0, 400.0])
def test_caller_is_admitted_after_retry_after(rate: float) -> None:
    """The work in flight drains at the rate; at the time given there is capacity again, and not long before."""
    admission, _ = admission_of(rate, max_waiting=10_000)
    with ExitStack() as stack:
        burst = stack.enter_context(admitted(admission, short(texts=600)))
        with pytest.raises(OverloadedError) as refused, admitted(admission, short()):
            pytest.fail("admitted")
        after = refused.value.retry_after
        assert after is not None
        assert RETRY_AFTER_MIN <= after <= RETRY_AFTER_MAX
        admission.finish(burst, after * rate)
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
    with pytest.raises(ZeroDivisionError), admitted(admission, short(texts=3)):
        raise ZeroDivisionError
    assert (admission.texts, admission.ahead(Lane.BULK_LONG, "", 0)) == (0, 0)


async def test_permit_is_returned_after_a_cancellation() -> None:
    admission, _ = admission_of()

    async def hold() -> None:
        with admitted(admission, short(texts=3)):
            await asyncio.Event().wait()

    task = asyncio.create_task(hold())
    await asyncio.sleep(0)
    assert admission.texts == 3
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert (admission.texts, admission.ahead(Lane.BULK_LONG, "", 0)) == (0, 0)


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
def test_admission_keeps_the_limit_and_leaves_nothing(wanted: list[tuple[Priority, str, int, int, float]]) -> None:
    admission, _ = admission_of()
    in_flight = admission._in_flight
    with ExitStack() as stack:
        for priority, caller, texts, chars, done in wanted:
            work = work_of(["x" * chars] * texts, priority, caller)
            before = admission.ahead(work.lane, caller, work.cost)
            assert in_flight.units_of(caller, Lane(2 * priority.rank)) <= in_flight.units_before(work.lane)
            try:
                stack.enter_context(admitted(admission, work))
            except OverloadedError:
                assert before >= admission.limit(priority)
            else:
                assert before < admission.limit(priority) + (work.cost if work.lane.is_long else 0)
                admission.finish(work, done)
            assert all(
                0 <= capacity.callers <= capacity.ahead + 1e-9 for capacity in admission.class_capacities().values()
            )
    assert admission.texts == 0
    assert len(in_flight) == 0
    assert [in_flight.units_before(lane) for lane in Lane] == [0.0] * len(Lane)


def test_estimate_rate_uses_canaries_until_it_is_measured() -> None:
    admission, _ = admission_of()
    admission.new_slots(BATCH_SIZE)
    assert admission.assumed_rate == BATCH_SIZE
    admission.estimate_rate(2, 0.1)
    assert admission.assumed_rate == BATCH_SIZE / FULL_BATCH_SLOWDOWN / 0.1
    admission.estimate_rate(2, 5.0)
    assert admission.assumed_rate == BATCH_SIZE, "a first canary may take long, for all that is done the first time"
    admission.estimate_rate(40, 0.5)
    assert admission.assumed_rate == 40 / 0.5
    admission.estimate_rate(2, 0.0)
    assert admission.assumed_rate == MAX_BATCHES_PER_SECOND * BATCH_SIZE
    with ExitStack() as stack:
        for _ in range(2 * BATCH_SIZE + 1):
            stack.enter_context(admitted(admission, short()))
    admission.new_slots(BATCH_SIZE)
    assert admission.assumed_rate == BATCH_SIZE, "another engine"


async def test_slots_of_a_dead_engine_leave_the_new_meter() -> None:
    admission, clock = admission_of(rate=20)
    old = admission.new_slots(1)
    assert admission.meter.rate is None, "the new engine's has yet to be measured"
    work = short()
    await old.acquire(Lane.INTERACTIVE_SHORT, work, 0)
    new = admission.new_slots(1)
    await new.acquire(Lane.INTERACTIVE_SHORT, work, 0)
    old.release(Lane.INTERACTIVE_SHORT)
    for _ in range(1000):
        clock.now += 0.01
        admission.meter.done(0.5)
    assert admission.meter.rate == pytest.approx(50, rel=0.01), "the new engine is full all the time"


def test_with_capacity_adds_classes_and_revision() -> None:
    admission, _ = admission_of()
    engine_report = ModelReport(
        running=0, waiting=0, limit=BATCH_SIZE, steps=0, step_age_s=None, kv_used=0.0, revision=None
    )
    report = admission.with_capacity(engine_report, "abc")
    assert report.revision == "abc"
    assert report.rate is None
    assert report.capacity is not None
    assert report.capacity.keys() == set(Priority)


def test_set_gauges_shows_the_queue_and_no_unknown_rate() -> None:
    metrics = ApiServerMetrics()
    admission, _ = admission_of()
    with admitted(admission, short()):
        admission.set_gauges(metrics, "m")
    labels = {"model": "m", "priority": "interactive"}
    assert metrics.registry.get_sample_value("pairway_apiserver_ahead_units", labels) == 1.0
    assert metrics.registry.get_sample_value("pairway_apiserver_limit_units", labels) == 2 * BATCH_SIZE
    rate = "pairway_apiserver_throughput_units_per_second"
    assert metrics.registry.get_sample_value(rate, {"model": "m"}) is None


def test_units_of_counts_a_caller_in_more_urgent_lanes() -> None:
    ledger = InFlightLedger()
    ledger.add("a", Lane.INTERACTIVE_SHORT, 2.0)
    ledger.add("a", Lane.BULK_SHORT, 3.0)
    ledger.add("b", Lane.INTERACTIVE_SHORT, 5.0)
    assert ledger.units_of("a", Lane.INTERACTIVE_SHORT) == 2.0
    assert ledger.units_of("a", Lane.BULK_SHORT) == 5.0
    assert ledger.units_of("c", Lane.BULK_SHORT) == 0.0


def test_units_before_counts_of_each_caller_no_more_than_most() -> None:
    ledger = InFlightLedger()
    ledger.add("a", Lane.INTERACTIVE_SHORT, 10.0)
    ledger.add("b", Lane.INTERACTIVE_SHORT, 1.0)
    assert ledger.units_before(Lane.INTERACTIVE_SHORT) == 11.0
    assert ledger.units_before(Lane.INTERACTIVE_SHORT, 4.0) == 5.0


def test_units_before_a_short_text_limits_long_ones_altogether() -> None:
    ledger = InFlightLedger()
    for caller in "abc":
        ledger.add(caller, Lane.INTERACTIVE_LONG, 10.0)
    assert ledger.units_before(Lane.INTERACTIVE_SHORT, most_long=4.0) == 0.0
    assert ledger.units_before(Lane.STANDARD_SHORT, most_long=4.0) == 4.0
    assert ledger.units_before(Lane.INTERACTIVE_LONG, most_long=4.0) == 30.0


def test_removed_units_and_ended_requests_leave_nothing() -> None:
    ledger = InFlightLedger()
    ledger.add("a", Lane.BULK_LONG, 2.5)
    ledger.remove("a", Lane.BULK_LONG, 2.0)
    assert ledger.units_of("a", Lane.BULK_LONG) == 0.5
    ledger.remove("a", Lane.BULK_LONG, 1.0)
    assert ledger.units_of("a", Lane.BULK_LONG) == 0.0
    ledger.end("a", Lane.BULK_LONG, 0.0)
    assert len(ledger) == 0


def test_load_is_all_units_per_place_of_the_batch() -> None:
    admission, _ = admission_of()
    works = [short(Priority.BULK, texts=BATCH_SIZE, caller="a"), short(texts=BATCH_SIZE // 2, caller="b")]
    assert admission.load == 0
    for work in works:
        admission.admit(work)
    assert admission.load == 1.5
    for work in works:
        admission.release(work)
    assert admission.load == 0
