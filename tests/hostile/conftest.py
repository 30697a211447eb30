"""The servers of all hostile tests, started once."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.hostile.run import prepare
from tests.hostile.servers import HostileFleet


@pytest.fixture(scope="session")
async def hostile_fleet(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[HostileFleet]:
    """Run a proxy without keys, one with keys, and an API server of every prompt family; none is traced."""
    fleet = HostileFleet(tmp_path_factory.mktemp("hostile"))
    async with fleet.running():
        prepare(fleet.proxy)
        yield fleet
