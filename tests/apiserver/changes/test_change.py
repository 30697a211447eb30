"""One change's state, times and outcome."""

from __future__ import annotations

from dataclasses import replace

from apiserver.changes.change import ChangeOutcome, ChangeStep, ModelChange
from apiserver.changes.plan import ChangeKind
from tests.apiserver.changes.samples import plan_of


class Clock:
    def __init__(self) -> None:
        self.now = 10.0

    def __call__(self) -> float:
        return self.now


def test_steps_are_timed() -> None:
    clock = Clock()
    change = ModelChange(plan_of(), clock, lambda: 1000.0)
    clock.now += 3
    assert change.report().seconds == {"loading": 3.0}
    change.begin(ChangeStep.PROVING)
    change.begin(ChangeStep.PROVING)
    clock.now += 2
    change.end(ChangeOutcome.SWITCHED)
    clock.now += 9
    report = change.report()
    assert (report.step, report.outcome, report.started_at) == (ChangeStep.DONE, ChangeOutcome.SWITCHED, 1000.0)
    assert report.seconds == {"loading": 3.0, "proving": 2.0}
    assert "APISERVER_MODELS" in (report.note or "")


def test_swap_begins_with_its_drain() -> None:
    assert ModelChange(plan_of(swap=True), Clock(), lambda: 0.0).step is ChangeStep.DRAINING


def test_failed_change_says_why() -> None:
    change = ModelChange(plan_of(), Clock(), lambda: 0.0)
    change.end(ChangeOutcome.FAILED, "no weights")
    assert (change.report().why, change.report().note) == ("no weights", None)


def test_held_change_names_what_keeps_it() -> None:
    change = ModelChange(plan_of(hold=True), Clock(), lambda: 0.0)
    change.begin(ChangeStep.HELD)
    assert change.report("en-de: its engine died").why == "en-de: its engine died"
    assert "switch" in (change.report().note or "")


def test_rollback_needs_no_setting() -> None:
    change = ModelChange(replace(plan_of(), kind=ChangeKind.ROLLBACK), Clock(), lambda: 0.0)
    change.end(ChangeOutcome.SWITCHED)
    assert change.report().note is None


def test_new_revision_of_one_entry_needs_no_setting() -> None:
    change = ModelChange(plan_of("old"), Clock(), lambda: 0.0)
    change.end(ChangeOutcome.SWITCHED)
    assert change.report().note is None
