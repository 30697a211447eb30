"""The scrape that all tests of rules compare with."""

from __future__ import annotations

import pytest

from tests.monitoring.scrape import Scrape, scraped


@pytest.fixture(scope="session")
async def scrape(tmp_path_factory: pytest.TempPathFactory) -> Scrape:
    """Scrape both servers once."""
    return await scraped(tmp_path_factory.mktemp("scraped"))
