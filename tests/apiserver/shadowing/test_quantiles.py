"""Quantiles from a bounded histogram: near the true ones, for any durations."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.shadowing.quantiles import BOUNDS, RATIO, QuantileHistogram


def histogram_of(*seconds: float) -> QuantileHistogram:
    histogram = QuantileHistogram()
    for each in seconds:
        histogram.add(each)
    return histogram


def test_no_durations_have_no_quantile() -> None:
    assert QuantileHistogram().quantile(0.5) is None


def test_quantiles_of_known_durations() -> None:
    histogram = histogram_of(*[0.1] * 94, *[2.0] * 6)
    assert histogram.quantile(0.5) == pytest.approx(0.1, rel=0.1)
    assert histogram.quantile(0.94) == pytest.approx(0.1, rel=0.1)
    assert histogram.quantile(0.95) == pytest.approx(2.0, rel=0.1)


@pytest.mark.parametrize("seconds", [0.0, -1.0])
def test_shortest_durations_are_in_the_first_bucket(seconds: float) -> None:
    assert histogram_of(seconds).quantile(0.5) == pytest.approx(BOUNDS[0], rel=0.1)


def test_longest_durations_are_in_the_last_bucket() -> None:
    assert histogram_of(1e9).quantile(0.5) == pytest.approx(BOUNDS[-1], rel=0.1)


@given(st.lists(st.floats(BOUNDS[0] / RATIO, BOUNDS[-1]), min_size=1), st.floats(0, 1))
def test_quantile_is_within_its_error(seconds: list[float], share: float) -> None:
    rank = next(rank for rank in range(1, len(seconds) + 1) if rank >= share * len(seconds))
    assert histogram_of(*seconds).quantile(share) == pytest.approx(sorted(seconds)[rank - 1], rel=RATIO - 1)
