"""Pairs that nobody trained: which third language leads there, and what is said when none does."""

from __future__ import annotations

import pytest

from proxy.fleet.snapshot import Snapshot
from proxy.routing.pivots import Pivots, pivot_pairs
from proxy.routing.routes import find_route
from shared.languages import LanguagePair
from shared.protocol.errors import PairUnavailableError, UnknownPairError
from tests.proxy.samples import pair, replica, snapshot

EVEN = Pivots(("en",), lambda _: 1.0)
FLEET = snapshot(replica("a", "de>en", "en>fr", "de>es", "es>fr"))


def languages(wanted: str, fleet: Snapshot = FLEET, pivots: Pivots | None = EVEN) -> list[str]:
    return find_route(pair(wanted), fleet, pivots).languages


def test_direct_pair_precedes_pivots() -> None:
    assert languages("de>en") == ["de", "en"]
    assert languages("de>fr", snapshot(replica("a", "de>en", "en>fr", "de>fr"))) == ["de", "fr"]


def test_preferred_pivot_precedes_faster_ones() -> None:
    def latency(each: LanguagePair) -> float:
        return 9.0 if "en" in (each.source, each.target) else 1.0

    assert languages("de>fr", pivots=Pivots(("en",), latency)) == ["de", "en", "fr"]
    assert languages("de>fr", pivots=Pivots((), latency)) == ["de", "es", "fr"]
    assert languages("de>fr", pivots=Pivots(("es", "en"), lambda _: 1.0)) == ["de", "es", "fr"]


def test_pivot_with_unready_leg_is_passed_over() -> None:
    fleet = snapshot(replica("a", "de>en", "de>es", "es>fr", starting=("en>fr",)))
    assert languages("de>fr", fleet) == ["de", "es", "fr"]


def test_unready_direct_pair_is_replaced_by_pivot() -> None:
    fleet = snapshot(replica("a", "de>en", "en>fr", starting=("de>fr",)))
    assert languages("de>fr", fleet) == ["de", "en", "fr"]
    with pytest.raises(PairUnavailableError):
        find_route(pair("de>fr"), fleet, None)


def test_pivot_legs_respect_regions_and_scripts() -> None:
    fleet = snapshot(replica("a", "de>en-GB", "en>zh-Hant"))
    assert languages("de-AT>zh-TW", fleet) == ["de", "en-GB", "zh-Hant"]
    with pytest.raises(UnknownPairError):
        languages("de>zh-CN", fleet)


@pytest.mark.parametrize("pivots", [None, EVEN])
def test_pair_without_route_is_unknown(pivots: Pivots | None) -> None:
    with pytest.raises(UnknownPairError):
        find_route(pair("fr>de"), FLEET, pivots)


def test_indirect_pair_without_pivots_is_unknown() -> None:
    with pytest.raises(UnknownPairError):
        find_route(pair("de>fr"), FLEET, None)


def test_route_with_unready_leg_is_unavailable() -> None:
    fleet = snapshot(replica("a", "de>en", starting=("en>fr",)))
    with pytest.raises(PairUnavailableError, match="en-fr cannot be served now") as caught:
        find_route(pair("de>fr"), fleet, EVEN)
    assert caught.value.retry_after


def test_pivot_is_neither_source_nor_target() -> None:
    fleet = snapshot(replica("a", "en>de", "de>en-GB"))
    with pytest.raises(UnknownPairError):
        find_route(pair("en>fr"), fleet, EVEN)
    assert pivot_pairs(fleet, EVEN) == {}


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


def test_tiers_group_urls_by_model_rank() -> None:
    fleet = snapshot(replica("a", "en>de", rank=1), replica("b", "en>de"), replica("c", "en>de", rank=1))
    assert fleet.tiers[pair("en>de")] == (("b",), ("a", "c"))
    assert set(fleet.ready[pair("en>de")]) == {"a", "b", "c"}


def test_listed_pivots_are_the_best_by_preference_and_name() -> None:
    fleet = snapshot(replica("a", "de>en", "de>es", "de>it", "en>fr", "es>fr", "it>fr", "it>pt", starting=("de>fr",)))
    slow = Pivots(("es",), lambda each: 9.0 if "es" in (each.source, each.target) else 1.0)
    assert pivot_pairs(fleet, slow) == {pair("de>fr"): ("es", True), pair("de>pt"): ("it", True)}
    assert pivot_pairs(fleet, EVEN)[pair("de>fr")] == ("en", True)
    assert pivot_pairs(fleet, Pivots((), lambda _: 1.0))[pair("de>fr")] == ("en", True)
