"""Usage of keys through a restart of Redis and the kill of a proxy, with few requests."""

from __future__ import annotations

from itertools import count
from pathlib import Path

from tests.faults.key_usage import measure
from tests.support.waiting import again_where_paused


async def test_usage_is_what_was_answered(tmp_path: Path) -> None:
    runs = count()

    async def attempt() -> None:
        folder = tmp_path / str(next(runs))
        folder.mkdir()
        found = await measure(600, folder)
        assert found.outcomes["200"] >= 300, found
        assert found.outcomes["cancelled"] >= 50, found
        # How much of the rest is refunded depends on the machine; the program measures it.
        assert not found.answered - found.reported, found
        assert found.difference <= found.refused, found

    await again_where_paused(attempt)
