"""Usage of keys through a restart of Redis and the kill of a proxy, with few requests."""

from __future__ import annotations

from pathlib import Path

from tests.faults.key_usage import measure


async def test_usage_is_what_was_answered(tmp_path: Path) -> None:
    found = await measure(600, tmp_path)
    assert found.outcomes["200"] >= 300, found
    assert found.outcomes["cancelled"] >= 50, found
    assert found.holds, found
