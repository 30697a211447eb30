"""Figures and events of all proxies, as JSON."""

from __future__ import annotations

from proxy.api.views.traffic_view import event_lines, proxy_line, traffic
from proxy.status.figure_ring import SLOTS, SlotFigures
from proxy.status.fleet_event import FleetEvent, FleetEventKind
from proxy.status.monitor import SILENT_SECONDS
from tests.proxy.status.summaries import summary

LAST = 1000


def test_figures_of_proxies_add_up() -> None:
    one = summary("p1", slots=[SlotFigures(slot=LAST, classes={"ok": 2}, codes={"overloaded": 1}, buckets={5: 2})])
    two = summary(
        "p2", slots=[SlotFigures(slot=LAST - 2, classes={"ok": 1}), SlotFigures(slot=LAST, classes={"ok": 3})]
    )
    found = traffic([one, two], LAST)
    assert found.start_at == (LAST - SLOTS + 1) * 10
    assert found.requests["ok"][-4:] == [None, 1, None, 5]
    assert found.outcomes == {"overloaded": [*[None] * (SLOTS - 3), 0, None, 1]}
    assert found.p50_s[-1] == 0.175
    assert found.p95_s[-3:] == [None, None, 0.242]
    assert {len(each) for each in (*found.requests.values(), found.p50_s, found.p95_s)} == {SLOTS}


def test_slots_outside_the_window_are_left_out() -> None:
    old = summary(
        slots=[SlotFigures(slot=LAST - SLOTS, classes={"ok": 1}), SlotFigures(slot=LAST + 1, classes={"ok": 1})]
    )
    assert set(traffic([old], LAST).requests["ok"]) == {None}


def test_event_is_in_words() -> None:
    down = FleetEvent.of(FleetEventKind.REPLICA_DOWN, 100.0, "http://a:1", "refused")
    (line,) = event_lines({"p1": [down], "p2": [down]})
    assert (line.text, line.why, line.level) == ("http://a:1 went down", "refused", "bad")
    assert (line.runbook, line.proxies) == ("a-replica-is-down", ["p1", "p2"])


def test_silent_proxy_probes_nothing() -> None:
    now = 1000.0 + SILENT_SECONDS + 1
    ended = proxy_line(summary(leader=True), now, is_this=False)
    assert (ended.leader, ended.silent_since) == (False, 1000.0)
    alive = proxy_line(summary(leader=True), 1001.0, is_this=False)
    assert (alive.leader, alive.silent_since) == (True, None)
    assert proxy_line(summary(), now, is_this=True).silent_since is None
