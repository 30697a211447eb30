"""Issues, and the most tokens of an output."""

from __future__ import annotations

from apiserver.guards.issues import PLACEHOLDER_LOST, max_output_tokens


def test_lost_placeholder_is_unusable() -> None:
    assert PLACEHOLDER_LOST.code == "placeholder-lost"
    assert not PLACEHOLDER_LOST.usable


def test_max_output_tokens_grow_with_the_source() -> None:
    assert max_output_tokens(0) >= 16
    assert max_output_tokens(1000) >= 2500
