"""The cache of keys."""

from __future__ import annotations

from proxy.keys.cached_store import RecentlyUsed


def test_recently_used_values_are_bounded_and_expire() -> None:
    memory: RecentlyUsed[int] = RecentlyUsed(2)
    for n in range(3):
        memory.put(str(n), n, now=float(n))
    assert [memory.get(str(n), 3.0, 10.0) for n in range(3)] == [None, 1, 2]
    assert memory.get("1", 3.0, 2.0) is None, "too old"
