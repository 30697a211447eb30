"""One replica in all depths: one class describes it, and the depths agree."""

from __future__ import annotations

import ast
import time
from random import Random
from typing import Any

from proxy.api.views.replica_view import ReplicaHealth, ReplicaView
from proxy.balancing.local_stats import LocalStats
from tests.layout.source_tree import modules, parsed, shown
from tests.proxy.samples import pair, replica, snapshot

# What all documents say of a replica, and nothing else says.
OF_A_REPLICA = {"url", "state", "why"}


def view(state: str = "ready", **changes: Any) -> ReplicaView:
    local_stats = LocalStats(time.monotonic, Random(1))  # noqa: S311 - picks, not secrets
    one = replica("http://a", "en>de", starting=("en>fr",), state=state).model_copy(update=changes)
    return ReplicaView(one, snapshot(one), local_stats, 112.34)


def test_depths_agree() -> None:
    for each in (view(), view("draining"), view(drained=True)):
        health = ReplicaHealth.model_validate(each.health({}))
        line, status = each.line(["http://a"], ["http://a"]), each.status(["http://a"], ["http://a"])
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
    status = one.status([], [])
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
