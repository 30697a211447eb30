"""A change of models: what is planned for a catalog, and how each part of it is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from apiserver.catalog.model_entry import ModelEntry
from apiserver.changes.change_run import EntryChange
from apiserver.changes.memory import MIB
from apiserver.changes.plan import PlannedChange, check_fits, plan_changes
from apiserver.changes.reports import ChangeOutcome, ChangeStep, model_line
from apiserver.hosting.model_host import ModelHost
from shared.protocol.errors import ChangeRefusedError
from tests.apiserver.changes.samples import compared, entry_of, host_of
from tests.apiserver.integration.operated_server import FakeMemory
from tests.support.clock import HandClock


def hosts_of(*entries: ModelEntry) -> list[ModelHost]:
    return [host_of(entry) for entry in entries]


def shown(changes: list[PlannedChange]) -> list[tuple[str | None, list[str]]]:
    """Return each change's entry and what it replaces."""
    return [(change.entry and change.entry.name, [host.entry.name for host in change.replaced]) for change in changes]


def planned(hosts: list[ModelHost], *entries: ModelEntry, remove: bool = False) -> list[tuple[str | None, list[str]]]:
    return shown(plan_changes(hosts, compared(hosts, *entries), remove=remove))


def refusal(hosts: list[ModelHost], *entries: ModelEntry) -> ChangeRefusedError:
    with pytest.raises(ChangeRefusedError) as caught:
        plan_changes(hosts, compared(hosts, *entries), remove=False)
    return caught.value


A, B = entry_of("a", "en-de", "de-en"), entry_of("b", "en-fr")


def test_catalog_that_is_served_needs_no_change() -> None:
    assert planned(hosts_of(A, B), A, B) == []


def test_states_of_entries_differ() -> None:
    hosts = hosts_of(A, B)
    states = compared(hosts, entry_of("a", "en-de", "de-en", path="o/other"), entry_of("c", "en-fr")).states
    assert states == {"a": "changed", "c": "new", "b": "gone"}


def test_changed_entry_replaces_the_host_of_its_name() -> None:
    assert planned(hosts_of(A, B), entry_of("a", "en-de", "de-en", path="o/v2"), B) == [("a", ["a"])]


def test_new_entry_is_loaded_beside_what_stays() -> None:
    assert planned(hosts_of(A), A, entry_of("c", "en-de")) == [("c", [])]


def test_new_entry_takes_the_place_of_those_that_are_gone() -> None:
    assert planned(hosts_of(A, B), entry_of("multi", "en-de", "de-en", "en-fr")) == [("multi", ["a", "b"])]


def test_gone_host_stays_until_all_its_pairs_are_served() -> None:
    changes = planned(hosts_of(A), entry_of("one", "en-de"), entry_of("two", "de-en"))
    assert changes == [("one", []), ("two", ["a"])]


def test_gone_entry_without_a_successor_is_refused_by_name() -> None:
    hosts = hosts_of(A, B, entry_of("c", "en-de"))
    error = refusal(hosts, A, B)
    assert "no longer has c, and no new entry takes the place" in error.detail
    assert '"remove": true' in error.detail
    assert error.facts == {"gone": ["c"], "missing_pairs": []}
    assert planned(hosts, A, B, remove=True) == [(None, ["c"])]


def test_entry_that_only_changed_is_no_successor() -> None:
    hosts = hosts_of(A, entry_of("c", "en-de"))
    assert refusal(hosts, entry_of("a", "en-de", "de-en", path="o/v2")).facts["gone"] == ["c"]


def test_lost_pair_is_refused_by_name() -> None:
    hosts = hosts_of(A, B)
    error = refusal(hosts, entry_of("a", "en-de"), B)
    assert "no longer serves de-en" in error.detail
    assert error.facts == {"gone": [], "missing_pairs": ["de-en"]}
    assert refusal(hosts, entry_of("c", "en-de"), B).facts == {"gone": [], "missing_pairs": ["de-en"]}
    assert planned(hosts, entry_of("a", "en-de"), B, remove=True) == [("a", ["a"])]
    assert planned(hosts, entry_of("c", "en-de"), B, remove=True) == [("c", ["a"])]


def test_pair_that_moves_is_gained_before_it_is_lost() -> None:
    hosts = hosts_of(A, B)
    changes = planned(hosts, entry_of("a", "en-de"), entry_of("b", "en-fr", "de-en"))
    assert changes == [("b", ["b"]), ("a", ["a"])]


def test_pairs_that_change_places_are_refused() -> None:
    hosts = hosts_of(entry_of("a", "en-de"), B)
    assert "a, b exchange pairs" in refusal(hosts, entry_of("a", "en-fr"), entry_of("b", "en-de")).detail


def test_entry_has_the_catalogs_rank() -> None:
    hosts = hosts_of(A)
    (change,) = plan_changes(hosts, compared(hosts, A, entry_of("c", "en-de")), remove=False)
    assert {str(pair): rank for pair, rank in change.ranks.items()} == {"en-de": 1}


def test_shares_are_checked_as_the_changes_follow() -> None:
    half, whole = ({"gpu_memory_utilization": share} for share in (0.5, 0.6))
    hosts = hosts_of(entry_of("a", "en-de", engine=half))
    plans = plan_changes(hosts, compared(hosts, entry_of("a", "en-de", engine=whole)), remove=False)
    memory = FakeMemory(kind="cuda")
    with pytest.raises(ChangeRefusedError, match=r"a 0\.5, a \(new\) 0\.6\) exceed 1"):
        check_fits(plans, hosts, memory, swap=False)
    check_fits(plans, hosts, memory, swap=True)


def test_swap_of_unknown_memory_is_the_operators_choice() -> None:
    hosts = hosts_of(entry_of("a", "en-de"))
    plans = plan_changes(hosts, compared(hosts, entry_of("a", "en-de", path="o/v2")), remove=False)
    with pytest.raises(ChangeRefusedError, match="is not known"):
        check_fits(plans, hosts, FakeMemory(available=MIB), swap=False)
    check_fits(plans, hosts, FakeMemory(available=MIB), swap=True)


def test_removal_needs_no_memory() -> None:
    hosts = hosts_of(A, B)
    check_fits(plan_changes(hosts, compared(hosts, A), remove=True), hosts, FakeMemory(available=0), swap=False)


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
