"""Rows of the compose file: every one has a name of its own, and a wrong name is refused."""

from __future__ import annotations

import pytest

from tests.compose.__main__ import chosen
from tests.compose.rows.table import NAMES, ROWS


def test_names_are_unique_and_the_fleet_ends_last() -> None:
    assert len(set(NAMES)) == len(NAMES)
    assert [row.name for row in ROWS if row.ends_fleet] == [NAMES[-1]]


def test_chosen_keeps_the_tables_order() -> None:
    assert [row.name for row in chosen("scale,keys")] == ["keys", "scale"]
    assert len(chosen("")) == len(ROWS)


def test_chosen_refuses_an_unknown_row() -> None:
    with pytest.raises(SystemExit, match="no row scal; there are calm"):
        chosen("scal")
