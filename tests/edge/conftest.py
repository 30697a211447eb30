"""The proxies, which all tests of the edge share."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from benchmarks.harness.program import allow_open_files
from tests.edge.running_edge import Fleet, running_fleet


@pytest.fixture(scope="session")
async def fleet(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Fleet]:
    allow_open_files()
    async with running_fleet(tmp_path_factory.mktemp("fleet")) as running:
        yield running
