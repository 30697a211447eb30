"""Threads that blocking calls run in."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest


@pytest.fixture(autouse=True)
async def new_threads() -> None:
    """Give each test threads of its own: those of earlier tests may have lost the trace function of coverage."""
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor())
