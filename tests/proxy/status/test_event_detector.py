"""Events from changes: what is one, and what is none."""

from __future__ import annotations

import pytest

from proxy.fleet.replica import Replica
from proxy.status.event_detector import EventDetector, OpenBreakers
from proxy.status.fleet_event import MAX_EVENTS
from tests.proxy.samples import pair, replica, snapshot
from tests.support.clock import HandClock

A, B = "http://a:1", "http://b:1"


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def detector(clock: HandClock) -> EventDetector:
    return EventDetector("me", clock)


def found(detector: EventDetector) -> list[tuple[str, str]]:
    return [(each.kind.value, each.subject) for each in detector.events]


def down(url: str, *pairs: str) -> Replica:
    return replica(url, *pairs).silent("it refuses connections", 101.0, max_misses=1)


def test_state_at_start_is_no_event(detector: EventDetector) -> None:
    detector.observe_snapshot(snapshot(Replica.unseen(A, 1.0), Replica.unseen(B, 1.0)))
    detector.observe_snapshot(snapshot(replica(A, "en>de"), Replica.unseen(B, 1.0)))
    detector.observe_snapshot(snapshot(replica(A, "en>de"), down(B)))
    assert found(detector) == []
    assert detector.version == 0


def test_replicas_known_at_start_do_not_join(detector: EventDetector) -> None:
    detector.observe_snapshot(snapshot())
    detector.observe_snapshot(snapshot(replica(A, "en>de"), replica(B, "en>de")))
    assert found(detector) == []
    detector.observe_snapshot(snapshot(replica(A, "en>de"), down(B, "en>de")))
    assert found(detector) == [("replica-down", B)]


def test_replica_down_and_back(detector: EventDetector, clock: HandClock) -> None:
    detector.observe_snapshot(snapshot(replica(A, "en>de"), replica(B, "en>de")))
    clock.now = 2000.0
    detector.observe_snapshot(snapshot(down(A, "en>de"), replica(B, "en>de")))
    detector.observe_snapshot(snapshot(down(A, "en>de"), replica(B, "en>de")))
    assert [(each.at, each.why) for each in detector.events] == [(2000.0, "it refuses connections")]
    detector.observe_snapshot(snapshot(replica(A, starting=("en>de",), state="starting"), replica(B, "en>de")))
    detector.observe_snapshot(snapshot(replica(A, "en>de"), replica(B, "en>de")))
    assert found(detector) == [("replica-down", A), ("replica-up", A)]


def test_last_replica_takes_its_pairs_with_it(detector: EventDetector) -> None:
    pairs = tuple(f"en>{tag}" for tag in ("de", "bg", "cs", "da", "es", "fr", "it", "nl", "pl", "pt"))
    detector.observe_snapshot(snapshot(replica(A, *pairs), replica(B, "en>de")))
    detector.observe_snapshot(snapshot(down(A, *pairs), replica(B, "en>de")))
    detector.observe_snapshot(snapshot(replica(A, *pairs), replica(B, "en>de")))
    lost = "en-bg, en-cs, en-da, en-es, en-fr, en-it, en-nl, en-pl, +1"
    assert found(detector) == [("replica-down", A), ("pairs-down", lost), ("replica-up", A), ("pairs-up", lost)]


def test_replicas_join_and_leave(detector: EventDetector) -> None:
    detector.observe_snapshot(snapshot(replica(A, "en>de")))
    detector.observe_snapshot(snapshot(replica(A, "en>de"), Replica.unseen(B, 1.0)))
    detector.observe_snapshot(snapshot(replica(A, "en>de"), replica(B, "en>de")))
    detector.observe_snapshot(snapshot(replica(B, "en>de")))
    assert found(detector) == [("replica-joined", B), ("replica-left", A)]


def test_operators_drain_is_no_loss(detector: EventDetector) -> None:
    ready = replica(A, "en>de")
    detector.observe_snapshot(snapshot(ready))
    detector.observe_snapshot(snapshot(ready.with_override(drained=True, weight=None)))
    detector.observe_snapshot(snapshot(ready))
    assert [kind for kind, _ in found(detector)] == ["replica-drained", "pairs-down", "replica-resumed", "pairs-up"]


@pytest.mark.parametrize(("state", "kind"), [("draining", "replica-stopping"), ("starting", "replica-unready")])
def test_server_that_stops_or_loses_its_engine(detector: EventDetector, state: str, kind: str) -> None:
    detector.observe_snapshot(snapshot(replica(A, "en>de"), replica(B, "en>de")))
    detector.observe_snapshot(snapshot(replica(A, starting=("en>de",), state=state), replica(B, "en>de")))
    detector.observe_snapshot(snapshot(replica(A, "en>de"), replica(B, "en>de")))
    assert found(detector) == [(kind, A), ("replica-up", A)]


def test_breakers_of_a_replica_are_one_event(detector: EventDetector) -> None:
    detector.observe_snapshot(snapshot(replica(A, "en>de", "en>fr")))
    detector.observe_breakers({A: OpenBreakers((pair("en>de"),), "replica-failed")})
    detector.observe_breakers({A: OpenBreakers((pair("en>de"), pair("en>fr")), "replica-failed")})
    detector.observe_breakers({})
    assert found(detector) == [("breaker-opened", A), ("breaker-closed", A)]
    assert detector.events[0].why == "en-de: replica-failed"


def test_breaker_of_a_replica_that_left_does_not_close(detector: EventDetector) -> None:
    detector.observe_snapshot(snapshot(replica(A, "en>de")))
    detector.observe_breakers({A: OpenBreakers((pair("en>de"),), "replica-failed")})
    detector.observe_snapshot(snapshot())
    detector.observe_breakers({})
    assert found(detector)[1:] == [("replica-left", A), ("pairs-down", "en-de")]


def test_leader_and_redis(detector: EventDetector) -> None:
    detector.observe_leader(is_leader=True)
    detector.observe_snapshot(snapshot())
    detector.observe_leader(is_leader=True)
    detector.observe_redis(None)
    detector.observe_redis("refused")
    detector.observe_redis("timed out")
    detector.observe_leader(is_leader=False)
    detector.observe_redis(None)
    assert found(detector) == [("leader-changed", "me"), ("redis-away", ""), ("redis-back", "")]


def test_events_are_bounded(detector: EventDetector) -> None:
    detector.observe_snapshot(snapshot(replica(A, "en>de")))
    for _ in range(MAX_EVENTS):
        detector.observe_redis("refused")
        detector.observe_redis(None)
    assert len(detector.events) == MAX_EVENTS
    assert detector.version == 2 * MAX_EVENTS


def test_ends_say_how_long_it_lasted(detector: EventDetector, clock: HandClock) -> None:
    clock.now = 1000.0
    detector.observe_snapshot(snapshot(replica(A, "en>de")))
    detector.observe_redis(None)
    detector.observe_snapshot(snapshot(down(A, "en>de")))
    detector.observe_breakers({A: OpenBreakers((pair("en>de"),), "replica-failed")})
    detector.observe_redis("refused")
    clock.now += 10
    detector.observe_snapshot(snapshot(replica(A, starting=("en>de",), state="starting")))
    clock.now += 39
    detector.observe_snapshot(snapshot(replica(A, "en>de")))
    detector.observe_breakers({})
    detector.observe_redis(None)
    ends = [(each.kind.value, each.after_s) for each in detector.events if each.after_s is not None]
    assert ends == [("replica-up", 49), ("pairs-up", 49), ("breaker-closed", 49), ("redis-back", 49)]
    assert (detector.since(A), detector.since("en-de"), detector.since(B)) == (1049, 1049, None)


def test_replica_is_whole_since_its_last_pair_is_ready(detector: EventDetector, clock: HandClock) -> None:
    detector.observe_snapshot(snapshot(replica(A, "en>de", "en>fr")))
    for starting in ((), ("en>fr",), ("en>fr",), (), ()):
        clock.now += 10
        ready = ("en>de",) if starting else ("en>de", "en>fr")
        detector.observe_snapshot(snapshot(replica(A, *ready, starting=starting)))
    assert detector.since(A) == 1040


def test_replica_that_never_was_ready_does_not_come_back(detector: EventDetector) -> None:
    unseen = Replica.unseen(B, 1.0)
    gone = unseen.silent("refused", 101.0, max_misses=1)
    detector.observe_snapshot(snapshot(replica(A, "en>de"), gone))
    detector.observe_snapshot(snapshot(replica(A, "en>de"), replica(B, starting=("en>de",), state="starting")))
    detector.observe_snapshot(snapshot(replica(A, "en>de"), gone))
    detector.observe_snapshot(snapshot(replica(A, "en>de"), replica(B, "en>de")))
    assert found(detector) == [("replica-joined", B)]


def test_replica_that_was_down_before_this_proxy_comes_back(detector: EventDetector) -> None:
    detector.observe_snapshot(snapshot(down(A, "en>de")))
    detector.observe_snapshot(snapshot(replica(A, "en>de")))
    assert next((each.kind.value, each.after_s) for each in detector.events) == ("replica-up", None)


def test_missed_probe_is_no_state_yet(detector: EventDetector) -> None:
    detector.observe_snapshot(snapshot(replica(A, "en>de").silent("timed out", 101.0, max_misses=2)))
    assert not detector.has_started
    detector.observe_snapshot(snapshot(down(A, "en>de")))
    assert detector.has_started


def test_restarts_of_a_server_are_counted(detector: EventDetector) -> None:
    detector.observe_snapshot(snapshot(Replica.unseen(A, 1.0)))
    for started in ("one", "one", "two"):
        detector.observe_snapshot(snapshot(replica(A, "en>de", replica_id=started)))
    assert detector.replicas[A].restarts == 1
