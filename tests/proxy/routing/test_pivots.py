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


def test_a_direct_pair_comes_before_every_pivot() -> None:
    assert languages("de>en") == ["de", "en"]
    assert languages("de>fr", snapshot(replica("a", "de>en", "en>fr", "de>fr"))) == ["de", "fr"]


def test_the_preferred_language_comes_first_however_slow_then_the_quickest() -> None:
    def latency(each: LanguagePair) -> float:
        return 9.0 if "en" in (each.source, each.target) else 1.0

    assert languages("de>fr", pivots=Pivots(("en",), latency)) == ["de", "en", "fr"]
    assert languages("de>fr", pivots=Pivots((), latency)) == ["de", "es", "fr"]
    assert languages("de>fr", pivots=Pivots(("es", "en"), lambda _: 1.0)) == ["de", "es", "fr"]


def test_a_pivot_with_a_leg_that_is_out_gives_way_to_another() -> None:
    fleet = snapshot(replica("a", "de>en", "de>es", "es>fr", starting=("en>fr",)))
    assert languages("de>fr", fleet) == ["de", "es", "fr"]


def test_a_direct_pair_that_is_out_is_served_through_a_pivot_meanwhile() -> None:
    fleet = snapshot(replica("a", "de>en", "en>fr", starting=("de>fr",)))
    assert languages("de>fr", fleet) == ["de", "en", "fr"]
    with pytest.raises(PairUnavailableError):
        find_route(pair("de>fr"), fleet, None)


def test_regions_and_scripts_are_minded_on_both_legs() -> None:
    fleet = snapshot(replica("a", "de>en-GB", "en>zh-Hant"))
    assert languages("de-AT>zh-TW", fleet) == ["de", "en-GB", "zh-Hant"]
    with pytest.raises(UnknownPairError):
        languages("de>zh-CN", fleet)


@pytest.mark.parametrize("pivots", [None, EVEN])
def test_where_nothing_leads_there_the_pair_is_unknown(pivots: Pivots | None) -> None:
    with pytest.raises(UnknownPairError):
        find_route(pair("fr>de"), FLEET, pivots)


def test_without_pivots_a_pair_that_nobody_trained_is_unknown() -> None:
    with pytest.raises(UnknownPairError):
        find_route(pair("de>fr"), FLEET, None)


def test_a_known_way_with_a_leg_that_is_out_is_unavailable_and_names_the_leg() -> None:
    fleet = snapshot(replica("a", "de>en", starting=("en>fr",)))
    with pytest.raises(PairUnavailableError, match="en-fr can not be served now") as caught:
        find_route(pair("de>fr"), fleet, EVEN)
    assert caught.value.retry_after


def test_there_is_no_way_back_to_where_one_came_from() -> None:
    fleet = snapshot(replica("a", "en>de", "de>en-GB"))
    with pytest.raises(UnknownPairError):
        find_route(pair("en>fr"), fleet, EVEN)
    assert pivot_pairs(fleet, EVEN) == {}


def test_what_a_pivot_adds_is_listed_with_its_language_and_whether_it_is_ready() -> None:
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


def test_urls_are_grouped_by_the_rank_of_the_model_that_serves_them() -> None:
    fleet = snapshot(replica("a", "en>de", rank=1), replica("b", "en>de"), replica("c", "en>de", rank=1))
    assert fleet.tiers[pair("en>de")] == (("b",), ("a", "c"))
    assert set(fleet.ready[pair("en>de")]) == {"a", "b", "c"}
