"""A work item: its lane, and its callbacks."""

from __future__ import annotations

from apiserver.scheduling.work_item import WorkItem
from shared.protocol.lanes import Lane
from shared.protocol.priority import Priority


def test_lane_is_that_of_class_and_length() -> None:
    assert WorkItem(Priority.BULK).lane(is_long=True) is Lane.BULK_LONG
    assert WorkItem(Priority.INTERACTIVE).lane(is_long=False) is Lane.INTERACTIVE_SHORT


def test_canary_has_no_lane() -> None:
    assert WorkItem(canary=True).lane(is_long=False) is None


def test_on_begin_is_called_once() -> None:
    calls: list[str] = []
    work = WorkItem(on_begin=lambda: calls.append("begun"))
    work.begin()
    work.begin()
    assert calls == ["begun"]
    assert work.begun


def test_on_done_gets_the_units() -> None:
    units: list[float] = []
    work = WorkItem(on_done=units.append)
    work.done(1.5)
    work.done(0.5)
    assert units == [1.5, 0.5]


def test_callbacks_may_be_absent() -> None:
    work = WorkItem()
    work.begin()
    work.done(1.0)
    assert work.begun
