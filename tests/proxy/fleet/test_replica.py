"""State of a replica by its reports and missed probes."""

from __future__ import annotations

import pytest

from proxy.fleet.replica import Replica, ReplicaState
from tests.proxy.samples import pair, replica, report


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
