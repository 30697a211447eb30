"""Which pair serves a request, directly or through a pivot, and what is said when none can."""

from __future__ import annotations

import itertools

import pytest

from proxy.fleet.snapshot import Snapshot
from proxy.routing.pivots import PivotOrder
from proxy.routing.routes import MAX_NAMED_PAIRS, Route, RoutePlanner, find_pair, find_route, known_pairs
from shared.languages import LanguagePair
from shared.protocol.errors import PairUnavailableError, UnknownPairError
from tests.proxy.samples import pair, replica, snapshot


def test_exact_pair_precedes_stand_ins() -> None:
    fleet = snapshot(replica("a", "en>pt", "en>pt-PT", "en>pt-BR"))
    assert str(find_pair(pair("en>pt-PT"), fleet)) == "en-pt-PT"


def test_closest_ready_pair_is_found() -> None:
    fleet = snapshot(replica("a", "en>pt-BR"), replica("b", "en>pt").silent("x", 1, max_misses=1))
    assert str(find_pair(pair("en-US>pt-PT"), fleet)) == "en-pt-BR"


def test_pair_of_another_script_is_unknown() -> None:
    fleet = snapshot(replica("a", "en>zh", "zh>en"))
    for wanted in ("en>zh-TW", "en>zh-Hant", "zh-Hant>en"):
        with pytest.raises(UnknownPairError):
            find_pair(pair(wanted), fleet)


def test_unknown_pair_error_names_known_pairs() -> None:
    with pytest.raises(UnknownPairError) as caught:
        known_pairs(pair("en>ja"), snapshot(replica("a", "en>de"), remembered=("en>fr",)))
    assert caught.value.facts == {"pairs": ["en-de", "en-fr"]}
    with pytest.raises(UnknownPairError, match="none yet"):
        known_pairs(pair("en>ja"), snapshot())


def test_unknown_pair_error_names_pairs_of_its_languages_first() -> None:
    languages = [f"{first}{second}" for first in "bc" for second in "aefghilmnorstuy"]
    others = [f"{source}>{target}" for source, target in itertools.permutations(languages, 2)]
    fleet = snapshot(replica("a", "en>de", "fr>ja", *others))
    with pytest.raises(UnknownPairError, match=" more; GET /languages lists all") as caught:
        known_pairs(pair("en>ja"), fleet)
    named = caught.value.facts["pairs"]
    assert named[:2] == ["en-de", "fr-ja"]
    assert len(set(named)) == len(named) == MAX_NAMED_PAIRS
    assert caught.value.facts["more_pairs"] == len(fleet.ready) - MAX_NAMED_PAIRS


def test_reversed_pair_is_unknown() -> None:
    with pytest.raises(UnknownPairError):
        find_pair(pair("de>en"), snapshot(replica("a", "en>de")))


def test_unavailable_pair_error_names_replica_states() -> None:
    fleet = snapshot(
        replica("a", starting=("en>de",), state="starting"),
        replica("b", "en>de").silent("x", 1, max_misses=1),
        replica("c", "en>de").silent("x", 1, max_misses=1),
        replica("d", "en>fr"),
    )
    with pytest.raises(PairUnavailableError, match=r"of 3 configured: 1 starting, 2 down") as caught:
        find_pair(pair("en>de"), fleet)
    assert caught.value.retry_after is not None


def test_unavailable_pair_error_names_ready_replicas() -> None:
    fleet = snapshot(replica("a", "en>fr", starting=("en>de",)))
    with pytest.raises(PairUnavailableError, match="of 1 configured: 1 not ready for this pair"):
        find_pair(pair("en>de"), fleet)


def test_ready_stand_in_precedes_exact_pair_that_is_down() -> None:
    fleet = snapshot(replica("a", starting=("en>pt-BR",), state="starting"), replica("b", "en>pt"))
    assert find_pair(pair("en>pt-BR"), fleet) == pair("en>pt")


@pytest.mark.parametrize(("expected", "seconds"), [(None, 5.0), (12.0, 12.0), (0.2, 1.0), (900.0, 60.0)])
def test_retry_after_is_the_replicas_estimate(expected: float | None, seconds: float) -> None:
    starting = replica("a", starting=("en>de",), state="starting", ready_in=expected)
    later = replica("b", starting=("en>de",), state="starting", ready_in=None if expected is None else expected + 100)
    with pytest.raises(PairUnavailableError) as caught:
        find_pair(pair("en>de"), snapshot(starting, later))
    assert caught.value.retry_after == seconds


def test_remembered_pair_without_replicas_is_unavailable() -> None:
    with pytest.raises(PairUnavailableError, match="no replica reports this pair"):
        find_pair(pair("en-GB>de-AT"), snapshot(remembered=("en>de",)))


def test_route_has_the_pair_as_asked() -> None:
    direct, pivot = Route((pair("en>de"),)), Route((pair("de>en"), pair("en>fr")))
    assert (direct.pair, direct.name) == ("en-de", "en-de")
    assert (pivot.pair, pivot.name, pivot.languages) == ("de-fr", "de-en+en-fr", ["de", "en", "fr"])


@pytest.mark.parametrize(
    ("wanted", "through_pivot", "found"),
    [
        ("de-AT>en", False, "de>en"),
        ("de-AT>fr", True, "de>fr"),
        ("de>fr", False, None),
        ("ja>fr", True, None),
        ("fr>de", True, None),
    ],
)
def test_reachable_pair_is_named_though_not_ready(wanted: str, through_pivot: bool, found: str | None) -> None:
    fleet = snapshot(remembered=("de>en", "en>fr"))
    planner = RoutePlanner(PivotOrder((), lambda _: 0.0))
    reachable = planner.reachable(pair(wanted), fleet, through_pivot=through_pivot)
    assert reachable == (found and pair(found))
    assert RoutePlanner(None).reachable(pair("de>fr"), fleet, through_pivot=True) is None


EVEN = PivotOrder(("en",), lambda _: 1.0)
FLEET = snapshot(replica("a", "de>en", "en>fr", "de>es", "es>fr"))


def languages(wanted: str, fleet: Snapshot = FLEET, pivots: PivotOrder | None = EVEN) -> list[str]:
    return find_route(pair(wanted), fleet, pivots).languages


def test_direct_pair_precedes_pivots() -> None:
    assert languages("de>en") == ["de", "en"]
    assert languages("de>fr", snapshot(replica("a", "de>en", "en>fr", "de>fr"))) == ["de", "fr"]


def test_preferred_pivot_precedes_faster_ones() -> None:
    def latency(each: LanguagePair) -> float:
        return 9.0 if "en" in (each.source, each.target) else 1.0

    assert languages("de>fr", pivots=PivotOrder(("en",), latency)) == ["de", "en", "fr"]
    assert languages("de>fr", pivots=PivotOrder((), latency)) == ["de", "es", "fr"]
    assert languages("de>fr", pivots=PivotOrder(("es", "en"), lambda _: 1.0)) == ["de", "es", "fr"]


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
def test_pair_without_route_is_unknown(pivots: PivotOrder | None) -> None:
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


def test_tiers_group_urls_by_model_rank() -> None:
    fleet = snapshot(replica("a", "en>de", rank=1), replica("b", "en>de"), replica("c", "en>de", rank=1))
    assert fleet.tiers[pair("en>de")] == (("b",), ("a", "c"))
    assert set(fleet.ready[pair("en>de")]) == {"a", "b", "c"}
