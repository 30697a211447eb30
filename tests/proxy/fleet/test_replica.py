"""A replica's state, and the snapshot of all."""

from __future__ import annotations

import pytest

from proxy.fleet.replica import Replica, ReplicaState
from proxy.fleet.snapshot import Snapshot
from tests.proxy.samples import pair, replica, report, snapshot


@pytest.mark.parametrize(
    ("state", "expected", "why"),
    [
        ("ready", ReplicaState.READY, None),
        ("draining", ReplicaState.DRAINING, "the server is stopping"),
        ("starting", ReplicaState.STARTING, "its engine starts"),
    ],
)
def test_state_follows_the_report(state: str, expected: ReplicaState, why: str | None) -> None:
    one = Replica.reported("http://a", report(starting=("en>de", "en>fr"), state=state), 5.0)
    assert (one.state, one.why, one.probed_at, one.reported_at, one.missed) == (expected, why, 5.0, 5.0, 0)


def test_only_ready_replica_serves_its_pairs() -> None:
    assert replica("a", "en>de").pairs == {pair("en>de"): True}
    assert replica("a", "en>de", state="draining").pairs == {pair("en>de"): False}
    assert replica("a", "en>de").silent("x", 1.0, max_misses=1).pairs == {pair("en>de"): False}
    assert Replica(url="a", state=ReplicaState.STARTING, why=None, probed_at=0).pairs == {}


def test_second_missed_probe_of_two_means_down() -> None:
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


def test_refused_probe_means_down_and_silence_keeps_it() -> None:
    refused = replica("a", "en>de").silent("refused", 2.0, max_misses=1)
    assert refused.state is ReplicaState.DOWN
    again = refused.silent("silent", 3.0, max_misses=9)
    assert (again.state, again.why) == (ReplicaState.DOWN, "silent")


def test_replica_that_never_reported_goes_down() -> None:
    new = Replica(url="a", state=ReplicaState.STARTING, why="not probed yet", probed_at=0)
    assert new.silent("x", 1.0, max_misses=2).state is ReplicaState.STARTING
    assert new.silent("x", 1.0, max_misses=1).state is ReplicaState.DOWN


def test_report_resets_missed_probes() -> None:
    assert replica("a", "en>de", now=9.0).missed == 0


def test_record_survives_json() -> None:
    one = replica("http://a", "en>zh-Hant", starting=("en>de",)).silent("x", 2.0, max_misses=2)
    assert Replica.model_validate_json(one.model_dump_json()) == one


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


def test_pairs_are_served_in_tiers_by_rank() -> None:
    fleet = Snapshot.of(
        (
            Replica.reported(f"http://{number}", each, 1.0)
            for number, each in enumerate(
                (
                    report("en>de", rank=2),
                    report("en>de", rank=0),
                    report("en>de", state="draining"),
                    report("en>de", rank=2),
                    report(starting=("en>de",)),
                )
            )
        ),
        [pair("de>en")],
    )
    assert fleet.tiers == {pair("de>en"): (), pair("en>de"): (("http://1",), ("http://0", "http://3"))}
    assert fleet.ranks[pair("en>de")] == {"http://0": 2, "http://1": 0, "http://3": 2}
    assert fleet.models[pair("en>de")] == dict.fromkeys(("http://0", "http://1", "http://3"), "m")
    assert (fleet.by_source["de"], fleet.by_target["de"]) == ((pair("de>en"),), (pair("en>de"),))
