"""Issues, and the most tokens of an output."""

from __future__ import annotations

from apiserver.guards.issues import PLACEHOLDER_LOST, TOO_WORDY


def test_lost_placeholder_is_unusable() -> None:
    assert PLACEHOLDER_LOST.code == "placeholder-lost"
    assert not PLACEHOLDER_LOST.usable


def test_with_values_leaves_the_issue_unchanged() -> None:
    valued = TOO_WORDY.with_values(["a", "a", "b"])
    assert (valued.code, valued.values, TOO_WORDY.values) == (TOO_WORDY.code, ("a", "b"), ())
    assert "values" not in repr(valued)
