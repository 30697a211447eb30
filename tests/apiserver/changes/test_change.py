"""One change's state, times and outcome; and the lines of GET /models."""

from __future__ import annotations

from pathlib import Path

from apiserver.changes.change_run import EntryChange
from apiserver.changes.plan import PlannedChange
from apiserver.changes.reports import ChangeOutcome, ChangeStep, model_line
from tests.apiserver.changes.samples import entry_of, host_of
from tests.support.clock import HandClock


def change_of(clock: HandClock) -> EntryChange:
    return EntryChange(PlannedChange(entry_of("new"), {}, (host_of(entry_of("old")),)), clock)


def test_steps_are_timed() -> None:
    clock = HandClock()
    change = change_of(clock)
    assert (change.report().step, change.report().seconds, change.can_stop) == (ChangeStep.WAITING, {}, True)
    clock.now += 7
    change.begin(ChangeStep.LOADING)
    clock.now += 3
    assert change.report().seconds == {"loading": 3.0}
    change.begin(ChangeStep.PROVING)
    change.begin(ChangeStep.PROVING)
    clock.now += 2
    change.begin(ChangeStep.UNLOADING)
    assert not change.can_stop
    change.end(ChangeOutcome.SWITCHED)
    clock.now += 9
    report = change.report()
    assert (report.entry, report.replaces) == ("new", ["old"])
    assert (report.step, report.outcome) == (ChangeStep.DONE, ChangeOutcome.SWITCHED)
    assert report.seconds == {"loading": 3.0, "proving": 2.0, "unloading": 0.0}


def test_failed_change_says_why() -> None:
    change = change_of(HandClock())
    change.end(ChangeOutcome.FAILED, "no weights")
    assert change.report().why == "no weights"


def test_line_of_a_starting_model_says_why() -> None:
    line = model_line(host_of(entry_of("a"), rank=1), "serving", "cpu")
    assert (line.name, line.state, line.revision, line.needed_bytes) == ("a", "serving", None, None)
    assert line.pairs["en-de"].model_dump() == {"ready": False, "why": "the engine is starting", "rank": 1}


def test_line_has_the_memory_where_it_is_known(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"x")
    entry = entry_of("a", engine={"kv_cache_memory_bytes": 5}, path=str(tmp_path))
    assert (model_line(host_of(entry), "loading", "cpu").needed_bytes or 0) > 5
