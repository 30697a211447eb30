"""The reference of the client is that of its code."""

from __future__ import annotations

from tests.client.reference import PAGE, page


def test_reference_is_that_of_the_code() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run make client-reference"
