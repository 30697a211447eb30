"""What the proxy makes of reports and of silence."""

from __future__ import annotations

import pytest

from proxy.fleet.replica import Replica, ReplicaState
from proxy.fleet.snapshot import Snapshot
from proxy.upstream.report_parser import ReportParser
from tests.proxy.samples import models, pair, replica, report, snapshot


@pytest.mark.parametrize(
    ("state", "expected", "why"),
    [
        ("ready", ReplicaState.READY, None),
        ("draining", ReplicaState.DRAINING, "it is about to stop"),
        ("starting", ReplicaState.STARTING, "its engine starts"),
    ],
)
def test_a_replica_is_what_it_says_it_is(state: str, expected: ReplicaState, why: str | None) -> None:
    one = Replica.reported("http://a", report(starting=("en>de", "en>fr"), state=state), 5.0)
    assert (one.state, one.why, one.probed_at, one.reported_at, one.missed) == (expected, why, 5.0, 5.0, 0)


def test_only_a_ready_replica_serves_even_if_its_pairs_are_ready() -> None:
    assert replica("a", "en>de").pairs == {pair("en>de"): True}
    assert replica("a", "en>de", state="draining").pairs == {pair("en>de"): False}
    assert replica("a", "en>de").silent("x", 1.0, max_misses=1).pairs == {pair("en>de"): False}
    assert Replica(url="a", state=ReplicaState.STARTING, why=None, probed_at=0).pairs == {}


def test_one_lost_probe_is_no_alarm_where_patience_is_two_and_the_second_is() -> None:
    one = replica("a", "en>de", now=1.0)
    once = one.silent("no report in time", 2.0, max_misses=2)
    assert (once.state, once.why, once.missed, once.probed_at, once.reported_at) == (
        ReplicaState.READY,
        None,
        1,
        2.0,
        1.0,
    )
    twice = once.silent("no report in time", 3.0, max_misses=2)
    assert (twice.state, twice.why, twice.missed) == (ReplicaState.DOWN, "no report in time", 2)
    assert twice.report is not None, "its pairs stay known"


def test_a_refusal_is_an_alarm_at_once_and_silence_after_it_does_not_heal() -> None:
    refused = replica("a", "en>de").silent("refused", 2.0, max_misses=1)
    assert refused.state is ReplicaState.DOWN
    again = refused.silent("silent", 3.0, max_misses=9)
    assert (again.state, again.why) == (ReplicaState.DOWN, "silent")


def test_a_replica_that_never_reported_goes_down_too() -> None:
    new = Replica(url="a", state=ReplicaState.STARTING, why="not probed yet", probed_at=0)
    assert new.silent("x", 1.0, max_misses=2).state is ReplicaState.STARTING
    assert new.silent("x", 1.0, max_misses=1).state is ReplicaState.DOWN


def test_a_report_after_silence_begins_anew() -> None:
    assert replica("a", "en>de", now=9.0).missed == 0


def test_a_snapshot_holds_every_known_pair_ready_or_not_in_order() -> None:
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


def test_a_snapshot_can_not_be_changed() -> None:
    fleet = snapshot(replica("http://a", "en>de"))
    with pytest.raises(TypeError):
        fleet.ready[pair("en>fr")] = ("http://b",)  # type: ignore[index]  # pyright: ignore[reportIndexIssue]


def test_a_record_survives_redis() -> None:
    one = replica("http://a", "en>zh-Hant", starting=("en>de",)).silent("x", 2.0, max_misses=2)
    assert Replica.model_validate_json(one.model_dump_json()) == one


def test_replicas_that_report_the_very_same_pairs_make_the_same_snapshot_as_others_that_report_alike() -> None:
    reports = ReportParser()
    told = [
        report("en>de", "en>fr", replica_id="1"),
        report("en>de", "en>fr", replica_id="2"),
        report("en>de", "en>fr", state="draining"),
        report("en>de", rank=1),
        report("en>fr", starting=("en>de",)),
        report("en>de", "en>fr", replica_id="6"),
    ]
    sharing = [
        reports.parse(each.model_copy(update={"models": models(ahead=0, limit=1)}).model_dump_json().encode())
        for each in told
    ]
    assert sharing[0].pairs is sharing[5].pairs
    views = [
        Snapshot.of((Replica.reported(f"http://{n}", each, 1.0) for n, each in enumerate(group)), [pair("de>en")])
        for group in (told, sharing)
    ]
    apart, shared = ([view.total, view.ranks, view.models, view.by_source, view.by_target] for view in views)
    assert apart == shared
    for what in ("ready", "tiers"):
        for key, found in getattr(views[0], what).items():
            groups = [found] if what == "ready" else found
            also = getattr(views[1], what)[key]
            assert [sorted(each) for each in groups] == [sorted(each) for each in ([also] if what == "ready" else also)]
