"""Which third language each pair of a fleet is translated through."""

from __future__ import annotations

from proxy.routing.pivots import PivotOrder, pivot_pairs
from tests.proxy.samples import pair, replica, snapshot

EVEN = PivotOrder(("en",), lambda _: 1.0)
FLEET = snapshot(replica("a", "de>en", "en>fr", "de>es", "es>fr"))


def test_listed_pivot_is_neither_source_nor_target() -> None:
    assert pivot_pairs(snapshot(replica("a", "en>de", "de>en-GB")), EVEN) == {}


def test_pivot_pairs_have_pivot_and_readiness() -> None:
    assert pivot_pairs(FLEET, EVEN) == {pair("de>fr"): ("en", True)}
    fleet = snapshot(replica("a", "de>en", "en>fr", "fr>de", starting=("de>fr",)))
    assert pivot_pairs(fleet, EVEN) == {
        pair("de>fr"): ("en", True),
        pair("en>de"): ("fr", True),
        pair("fr>en"): ("de", True),
    }
    out = snapshot(replica("a", "de>en", "de>es", starting=("en>fr", "es>fr")))
    assert pivot_pairs(out, EVEN) == {pair("de>fr"): ("en", False)}
    half = snapshot(replica("a", "de>en", "de>es", "es>fr", starting=("en>fr",)))
    assert pivot_pairs(half, EVEN) == {pair("de>fr"): ("es", True)}


def test_listed_pivots_are_the_best_by_preference_and_name() -> None:
    fleet = snapshot(replica("a", "de>en", "de>es", "de>it", "en>fr", "es>fr", "it>fr", "it>pt", starting=("de>fr",)))
    slow = PivotOrder(("es",), lambda each: 9.0 if "es" in (each.source, each.target) else 1.0)
    assert pivot_pairs(fleet, slow) == {pair("de>fr"): ("es", True), pair("de>pt"): ("it", True)}
    assert pivot_pairs(fleet, EVEN)[pair("de>fr")] == ("en", True)
    assert pivot_pairs(fleet, PivotOrder((), lambda _: 1.0))[pair("de>fr")] == ("en", True)
