"""Issues, and the most tokens of an output."""

from __future__ import annotations

from apiserver.guards.issues import PLACEHOLDER_LOST


def test_lost_placeholder_is_unusable() -> None:
    assert PLACEHOLDER_LOST.code == "placeholder-lost"
    assert not PLACEHOLDER_LOST.usable
