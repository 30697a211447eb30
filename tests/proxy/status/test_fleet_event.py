"""Events: bounded words, and one line for what several proxies noticed."""

from __future__ import annotations

from proxy.status.fleet_event import (
    MAX_MERGED_EVENTS,
    MAX_REASON_CHARS,
    MAX_SUBJECT_CHARS,
    MEANINGS,
    FleetEvent,
    FleetEventKind,
    merge_events,
)

A, B = "http://a:1", "http://b:1"


def down(at: float, url: str = A) -> FleetEvent:
    return FleetEvent.of(FleetEventKind.REPLICA_DOWN, at, url, "refused")


def test_words_are_cut_to_their_limits() -> None:
    event = FleetEvent.of(FleetEventKind.REDIS_AWAY, 1.0, "s" * 1000, "w" * 1000)
    assert (len(event.subject), len(event.why or "")) == (MAX_SUBJECT_CHARS, MAX_REASON_CHARS)


def test_every_kind_has_words() -> None:
    assert MEANINGS.keys() == set(FleetEventKind)


def test_event_of_several_proxies_is_one() -> None:
    found = merge_events({"p1": [down(100.0), down(101.0, B)], "p2": [down(99.0), down(500.0)]})
    assert [(each.event.at, each.event.subject, each.proxies) for each in found] == [
        (500.0, A, ["p2"]),
        (101.0, B, ["p1"]),
        (99.0, A, ["p2", "p1"]),
    ]


def test_one_proxys_events_stay_apart() -> None:
    found = merge_events({"p1": [down(100.0), down(104.0)], "p2": [down(100.1), down(104.1)]})
    assert [(each.event.at, each.proxies) for each in found] == [(104.0, ["p1", "p2"]), (100.0, ["p1", "p2"])]


def test_merged_events_are_bounded_to_the_latest() -> None:
    found = merge_events({f"p{n}": [down(n * 1000.0 + k, f"http://{k}") for k in range(50)] for n in range(5)})
    assert len(found) == MAX_MERGED_EVENTS
    assert found[0].event.at == 4049.0
