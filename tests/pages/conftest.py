"""The browser, which all tests of pages share, and its people, whose tabs are checked when a test ends."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from tests.pages.tabs import Chromium, Tab, chromium


@pytest.fixture(scope="session")
async def browser() -> AsyncGenerator[Chromium]:
    async with chromium() as one:
        yield one


@pytest.fixture
async def tab(browser: Chromium) -> AsyncGenerator[Tab]:
    """A tab of a new profile; at its end it must have no complaint and no request to another host."""
    async with browser.person() as one:
        yield one
        await one.check()
