"""Operators' overrides: the latest on an address wins, in whatever order proxies hear them."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.fleet.overrides import MAX_OVERRIDES, UNDONE_SECONDS, Override, OverrideKind, Overrides
from shared.protocol.errors import FleetFullError
from tests.support.clock import HandClock

NAME, ONE, TWO = "http://fleet:1", "http://10.0.0.1:1", "http://10.0.0.2:1"


def put(
    overrides: Overrides, url: str, verdict: OverrideKind, *, added: bool = False, weight: float | None = None
) -> Override:
    return overrides.change(url, verdict, added=added, weight=weight, new_verdict=True)


def test_unchanged_replica_serves() -> None:
    overrides = Overrides(HandClock(1_800_000_000.0))
    assert overrides.fleet_urls([NAME, ONE]) == [NAME, ONE]
    assert overrides.kind(ONE, [NAME]) is OverrideKind.SERVING
    assert overrides.weight(ONE, [NAME]) is None


def test_latest_override_of_name_or_address_wins() -> None:
    clock = HandClock(1_800_000_000.0)
    overrides = Overrides(clock)
    for step, (url, verdict) in enumerate(
        [
            (NAME, OverrideKind.DRAINED),
            (ONE, OverrideKind.SERVING),
            (TWO, OverrideKind.REMOVED),
            (NAME, OverrideKind.DRAINED),
        ]
    ):
        clock.now += 1
        put(overrides, url, verdict)
        expected = [
            (OverrideKind.DRAINED, OverrideKind.DRAINED),
            (OverrideKind.SERVING, OverrideKind.DRAINED),
            (OverrideKind.SERVING, OverrideKind.REMOVED),
            (OverrideKind.DRAINED, OverrideKind.DRAINED),
        ][step]
        assert (overrides.kind(ONE, [NAME]), overrides.kind(TWO, [NAME])) == expected


def test_weight_alone_keeps_the_kind() -> None:
    clock = HandClock(1_800_000_000.0)
    overrides = Overrides(clock)
    put(overrides, ONE, OverrideKind.DRAINED)
    clock.now += 1
    overrides.change(NAME, OverrideKind.SERVING, added=True, weight=2.0, new_verdict=False)
    assert overrides.kind(ONE, [NAME]) is OverrideKind.DRAINED
    assert overrides.weight(ONE, [NAME]) == overrides.weight(TWO, [NAME]) == 2.0
    clock.now += 1
    overrides.change(ONE, OverrideKind.DRAINED, added=False, weight=0.5, new_verdict=False)
    assert (overrides.weight(ONE, [NAME]), overrides.weight(TWO, [NAME])) == (0.5, 2.0)


def test_fleet_urls_follow_added_and_removed() -> None:
    overrides = Overrides(HandClock(1_800_000_000.0))
    put(overrides, NAME, OverrideKind.REMOVED)
    put(overrides, TWO, OverrideKind.SERVING, added=True)
    assert overrides.fleet_urls([NAME, ONE]) == [ONE, TWO]
    put(overrides, NAME, OverrideKind.SERVING, added=True)
    put(overrides, TWO, OverrideKind.REMOVED, added=True)
    assert overrides.fleet_urls([NAME, ONE]) == [NAME, ONE]


def test_override_after_clock_was_set_back_is_later() -> None:
    clock = HandClock(1_800_000_000.0)
    overrides = Overrides(clock)
    first = put(overrides, ONE, OverrideKind.DRAINED)
    clock.now -= 3600
    second = put(overrides, ONE, OverrideKind.SERVING)
    assert second.at > first.at
    assert overrides.kind(ONE, []) is OverrideKind.SERVING


def test_count_is_bounded_and_undone_overrides_go_first() -> None:
    overrides = Overrides(HandClock(1_800_000_000.0))
    for n in range(MAX_OVERRIDES - 1):
        put(overrides, f"http://h{n}:1", OverrideKind.DRAINED)
    put(overrides, ONE, OverrideKind.SERVING)
    put(overrides, TWO, OverrideKind.DRAINED)
    assert len(overrides.all()) == MAX_OVERRIDES
    assert overrides.get(ONE) is None
    with pytest.raises(FleetFullError) as caught:
        put(overrides, ONE, OverrideKind.DRAINED)
    assert str(MAX_OVERRIDES) in caught.value.detail
    put(overrides, TWO, OverrideKind.SERVING)
    other = Overrides(HandClock(1_800_000_000.0))
    put(other, ONE, OverrideKind.DRAINED)
    overrides.merge(other.all())
    assert len(overrides.all()) == MAX_OVERRIDES
    assert overrides.get(ONE) is not None, "what is in force is kept before what was undone"


def test_undone_override_is_dropped_after_a_day() -> None:
    clock = HandClock(1_800_000_000.0)
    overrides = Overrides(clock)
    put(overrides, ONE, OverrideKind.SERVING)
    put(overrides, TWO, OverrideKind.REMOVED, added=True)
    put(overrides, NAME, OverrideKind.REMOVED)
    clock.now += UNDONE_SECONDS - 1
    assert not overrides.merge([])
    clock.now += 2
    assert overrides.merge([])
    assert [change.url for change in overrides.all()] == [NAME]


URLS = st.sampled_from([NAME, ONE, TWO])
TIMES = st.floats(1_800_000_000, 1_800_001_000)
OVERRIDES = st.lists(
    st.builds(
        Override,
        url=URLS,
        verdict=st.sampled_from(list(OverrideKind)),
        at=TIMES,
        since=TIMES,
        added=st.booleans(),
        weight=st.none() | st.floats(0.1, 10),
    ),
    max_size=12,
    unique_by=lambda change: change.at,
)


@given(OVERRIDES, st.randoms())
def test_merge_result_is_independent_of_order(override_list: list[Override], rng: Random) -> None:
    one, two = Overrides(HandClock(1_800_000_000.0)), Overrides(HandClock(1_800_000_000.0))
    one.merge(override_list)
    for override in rng.sample(override_list, len(override_list)):
        two.merge([override])
    assert {change.url: change for change in one.all()} == {change.url: change for change in two.all()}
