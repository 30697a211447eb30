"""The fleet at one moment, indexed by pair."""

from __future__ import annotations

import pytest

from proxy.fleet.replica import Replica
from proxy.fleet.snapshot import Snapshot
from proxy.upstream.report_parser import ReportParser
from tests.proxy.samples import models, pair, replica, report, snapshot


def test_snapshot_holds_every_known_pair_in_order() -> None:
    fleet = snapshot(
        replica("http://a", "en>de", starting=("en>fr",)),
        replica("http://b", "en>de").silent("x", 1.0, max_misses=1),
        replica("http://c", "en>de", "de>en"),
        remembered=("en>ja", "en>de"),
    )
    assert {str(known): urls for known, urls in fleet.ready.items()} == {
        "de-en": ("http://c",),
        "en-de": ("http://a", "http://c"),
        "en-fr": (),
        "en-ja": (),
    }
    assert [str(known) for known in fleet.ready] == ["de-en", "en-de", "en-fr", "en-ja"]
    assert {str(known): count for known, count in fleet.total.items()} == {
        "en-ja": 0,
        "en-de": 3,
        "en-fr": 1,
        "de-en": 1,
    }
    assert fleet.source_languages == {"en", "de"}


def test_snapshot_is_immutable() -> None:
    fleet = snapshot(replica("http://a", "en>de"))
    with pytest.raises(TypeError):
        fleet.ready[pair("en>fr")] = ("http://b",)  # type: ignore[index]  # pyright: ignore[reportIndexIssue]


def test_shared_pairs_make_the_same_snapshot_as_equal_ones() -> None:
    reports = ReportParser()
    reported = [
        report("en>de", "en>fr", replica_id="1"),
        report("en>de", "en>fr", replica_id="2"),
        report("en>de", "en>fr", state="draining"),
        report("en>de", rank=1),
        report("en>fr", starting=("en>de",)),
        report("en>de", "en>fr", replica_id="6"),
    ]
    shared_reports = [
        reports.parse(each.model_copy(update={"models": models(ahead=0, limit=1)}).model_dump_json().encode())
        for each in reported
    ]
    assert shared_reports[0].pairs is shared_reports[5].pairs
    views = [
        Snapshot.of((Replica.reported(f"http://{n}", each, 1.0) for n, each in enumerate(group)), [pair("de>en")])
        for group in (reported, shared_reports)
    ]
    apart, shared = ([view.total, view.ranks, view.models, view.by_source, view.by_target] for view in views)
    assert apart == shared
    for what in ("ready", "tiers"):
        for key, found in getattr(views[0], what).items():
            groups = [found] if what == "ready" else found
            also = getattr(views[1], what)[key]
            assert [sorted(each) for each in groups] == [sorted(each) for each in ([also] if what == "ready" else also)]
