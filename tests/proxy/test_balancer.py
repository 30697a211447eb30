"""Picking one replica."""

# ruff: noqa: S311 - picks, not secrets

from __future__ import annotations

from collections import Counter
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from proxy.balancer import least_loaded


@given(st.dictionaries(st.text(min_size=1), st.integers(0, 5), min_size=1), st.integers())
def test_nobody_with_more_load_is_ever_picked(loads: dict[str, int], seed: int) -> None:
    assert loads[least_loaded(list(loads), loads.__getitem__, Random(seed))] == min(loads.values())


def test_equals_share_the_work() -> None:
    rng = Random(7)
    picked = Counter(least_loaded(["a", "b", "c"], lambda url: int(url == "c"), rng) for _ in range(1000))
    assert set(picked) == {"a", "b"}
    assert min(picked.values()) > 400
