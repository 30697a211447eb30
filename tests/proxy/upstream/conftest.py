"""Callers that close their connections at the test's end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest

from tests.proxy.upstream.callers import Caller, Callers


@pytest.fixture
async def callers() -> AsyncGenerator[Callers]:
    begun: list[Caller] = []

    def make(url: str) -> Caller:
        begun.append(Caller(url))
        return begun[-1]

    yield make
    for caller in begun:
        caller.endpoint.close_idle()
    await asyncio.sleep(0)
