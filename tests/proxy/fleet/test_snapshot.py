"""The fleet at one moment, indexed by pair."""

from __future__ import annotations

import pytest

from proxy.fleet.replica import Replica
from proxy.fleet.snapshot import Snapshot
from tests.proxy.samples import pair, replica, report, snapshot


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
