"""What operators are shown: replicas, causes, traffic, languages."""

from __future__ import annotations

import ast
import time
from random import Random
from typing import Any, get_args

import pytest

from proxy.api.views.replica_view import ReplicaHealth, ReplicaView, SolePairs
from proxy.api.views.traffic_view import PairTraffic, event_lines, proxy_lines, traffic
from proxy.balancing.local_stats import LocalStats
from proxy.fleet.replica import ReplicaState
from proxy.status.diagnosis import LEVELS, Diagnosis, Level, diagnose_pair, diagnose_replica
from proxy.status.figure_ring import MAX_PAIRS, SLOTS, SlotFigures
from proxy.status.fleet_event import FleetEvent, FleetEventKind
from proxy.status.monitor import SILENT_SECONDS
from tests.layout.source_tree import modules, parsed, shown
from tests.proxy.samples import pair, replica, snapshot
from tests.proxy.status.summaries import summary

# What all documents say of a replica, and nothing else says.
OF_A_REPLICA = {"url", "state", "why"}


def view(state: str = "ready", **changes: Any) -> ReplicaView:
    local_stats = LocalStats(time.monotonic, Random(1))  # noqa: S311 - picks, not secrets
    one = replica("http://a", "en>de", starting=("en>fr",), state=state).model_copy(update=changes)
    return ReplicaView(one, snapshot(one), local_stats, 112.34)


def test_depths_agree() -> None:
    for each in (view(), view("draining"), view(drained=True)):
        health = ReplicaHealth.model_validate(each.health({}))
        line, status = (
            each.line(["http://a"], ["http://a"]),
            each.status(["http://a"], ["http://a"], SolePairs(pairs=[])),
        )
        assert health.url == line.url == status.url
        assert health.state == line.state == status.state
        assert line.why == status.why
        assert (health.load, health.in_flight) == (status.load, status.in_flight)
        assert line.report is not None
        assert health.report_age_s == line.report.age_s
        for label, pair_health in health.pairs.items():
            assert pair_health.model_dump() == line.pairs[label].model_dump(include={"ready", "why"})
        assert {pair.pair: pair.why for pair in status.pairs} == {label: pair.why for label, pair in line.pairs.items()}


def test_open_breaker_is_why_it_gets_no_requests() -> None:
    one = view()
    stats = one.local_stats.pair_replica_stats("http://a", pair("en>de"))
    stats.record_failure(stats.breaker.acquire(), "timed out", at_once=True)
    status = one.status([], [], SolePairs(pairs=[]))
    assert (status.source, status.level, status.cause, status.open_breakers) == ("operator", "bad", "failing", 1)
    assert status.why == "the breaker of en-de is open: timed out"


def test_one_class_describes_a_replica() -> None:
    """Documents of a replica are defined, and made from its report and statistics, in one module of the proxy's API."""
    home = "proxy/api/views/replica_view.py"
    describing = {
        shown(path)
        for path in modules("proxy/api")
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.ClassDef)
        and {
            each.target.id
            for each in node.body
            if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
        }
        >= OF_A_REPLICA
    }
    assert describing == {home}
    reading = {
        shown(path)
        for path in modules("proxy/api")
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Attribute) and node.attr in {"reported_at", "replica_id", "breaker"}
    }
    assert reading == {home}


def diagnosed(state: str, *findings: str) -> Diagnosis:
    """Diagnose a replica of which these words are true, and nothing else is wrong."""
    wrong: dict[str, Any] = {word: word in findings for word in ("drained", "hung", "stalled", "failing", "full")}
    return diagnose_replica(ReplicaState(state), whole="incomplete" not in findings, **wrong)


@pytest.mark.parametrize(
    ("state", "findings", "level", "cause"),
    [
        ("ready", (), "ok", None),
        ("down", ("incomplete", "full"), "bad", "down"),
        ("down", ("drained",), "off", "drained"),
        ("draining", ("drained",), "off", "drained"),
        ("draining", (), "off", "stopping"),
        ("starting", ("incomplete",), "warn", "starting"),
        ("starting", ("incomplete", "hung"), "bad", "stalled"),
        ("down", ("incomplete", "hung"), "bad", "down"),
        ("ready", ("failing",), "bad", "failing"),
        ("ready", ("failing", "stalled"), "bad", "stalled"),
        ("ready", ("incomplete", "full"), "warn", "pairs-missing"),
        ("ready", ("full",), "warn", "full"),
    ],
)
def test_replica_has_level_and_cause(state: str, findings: tuple[str, ...], level: str, cause: str | None) -> None:
    found = diagnosed(state, *findings)
    assert (found.level, found.cause) == (level, cause)
    assert (found.code is not None) == (level in {"bad", "warn"})


@pytest.mark.parametrize(
    ("ready", "failing", "expected", "level"),
    [(0, 0, 0, "bad"), (0, 0, 2, "bad"), (2, 2, 2, "bad"), (2, 1, 2, "warn"), (1, 0, 2, "warn"), (3, 0, 2, "ok")],
)
def test_pair_is_as_bad_as_its_numbers(ready: int, failing: int, expected: int, level: str) -> None:
    assert diagnose_pair(ready=ready, failing=failing, expected=expected).level == level


def test_levels_have_an_order() -> None:
    assert len(get_args(Level)) == len(LEVELS)


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


def test_traffic_of_pairs_adds_up_where_it_is_known() -> None:
    one, two = summary("p1", pairs={"en-de": (3, 1), "en-fr": (1, 0)}), summary("p2", pairs={"en-de": (2, 0)})
    ended = summary("p3", at=1000.0 - SILENT_SECONDS - 1, pairs={"en-de": (9, 9)})
    asked = PairTraffic.of([one, two, ended], 1000.0)
    assert [asked.find(label) for label in ("en-de", "en-fr", "en-ja")] == [(5, 1), (1, 0), (0, 0)]
    assert asked.requests(["en-de", "en-fr", "en-ja"]) == 6
    assert PairTraffic.of([summary("old")], 1000.0).find("en-de") == (None, None), "of an earlier version"
    full = PairTraffic.of([summary(pairs={f"en-{n}": (1, 0) for n in range(MAX_PAIRS)})], 1000.0)
    assert (full.find("en-5"), full.find("en-de")) == ((1, 0), (None, None))
    assert full.requests(["en-5", "en-de"]) is None


def test_event_is_in_words() -> None:
    down = FleetEvent.of(FleetEventKind.REPLICA_DOWN, 100.0, "http://a:1", "refused")
    (line,) = event_lines({"p1": [down], "p2": [down]})
    assert (line.text, line.why, line.level) == ("http://a:1 went down", "refused", "bad")
    assert (line.runbook, line.proxies) == ("replica-down", ["p1", "p2"])


def test_one_proxy_probes_and_a_silent_one_does_not() -> None:
    own, killed = summary("own"), summary("killed", leader=True)
    _, alive = proxy_lines(own, [killed], 1001.0)
    assert (alive.leader, alive.heard_at, alive.silent_since) == (True, 1000.0, None)
    this, ended = proxy_lines(own, [killed], 1000.0 + SILENT_SECONDS + 1)
    assert (ended.leader, ended.silent_since) == (False, 1000.0)
    assert (this.leader, this.heard_at, this.silent_since) == (False, None, None)
    successor = summary("successor", leader=True, at=1003.0)
    for others in ([killed, successor], [successor, killed]):
        lines = {each.name: each.leader for each in proxy_lines(own, others, 1004.0)}
        assert lines == {"own": False, "killed": False, "successor": True}
    leads = {each.name: each.leader for each in proxy_lines(summary("own", leader=True), [killed, successor], 1004.0)}
    assert leads == {"own": True, "killed": False, "successor": False}
