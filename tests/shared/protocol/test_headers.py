"""The caller's tag."""

from __future__ import annotations

import pytest

from shared.protocol.headers import caller_from_header


@pytest.mark.parametrize("value", [None, "", "x", "0" * 15, "0" * 17, "0123456789ABCDEF", "0123456789abcdef "])
def test_caller_without_a_valid_tag_is_empty(value: str | None) -> None:
    assert caller_from_header(value) == ""


def test_caller_is_its_tag() -> None:
    assert caller_from_header("0123456789abcdef") == "0123456789abcdef"
