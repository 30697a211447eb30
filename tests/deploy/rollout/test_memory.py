"""Memory: what is available, what one container uses."""

from __future__ import annotations

import pytest

from deploy.rollout import memory


def test_available_memory_is_read_from_meminfo() -> None:
    assert memory.parse_available("MemTotal: 9 kB\nMemAvailable:    2048 kB\n") == 2 * 2**20
    assert memory.parse_available("nothing") is None


def test_used_memory_is_the_largest() -> None:
    assert memory.parse_used(["512MiB / 4GiB", "1.5GiB / 4GiB", "--  / --"]) == 3 * 2**29
    assert memory.parse_used(["800B / 4GiB"]) == 800
    assert memory.parse_used(["0 / 4parsecs", ""]) is None


@pytest.mark.parametrize(("available", "used"), [(None, 1), (1, None), (2**30, 2**30)])
def test_memory_is_not_short_unless_measured(available: int | None, used: int | None) -> None:
    assert memory.why_short(available, used) is None


def test_short_memory_is_said_with_figures() -> None:
    expected = "0.5 GiB of memory are available, and one uses 1.0 GiB"
    assert memory.why_short(2**29, 2**30) == expected
