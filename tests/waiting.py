"""Waiting for an outcome instead of sleeping."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar, cast

T = TypeVar("T")


async def wait_until(condition: Callable[[], T | Awaitable[T]], within: float, what: str = "") -> T:
    """Return the condition's first true value; fail after ``within`` seconds, saying what was waited for."""
    until = time.monotonic() + within
    while True:
        found = condition()
        value = cast("T", await found if inspect.isawaitable(found) else found)
        if value:
            return value
        if time.monotonic() > until:
            raise AssertionError(f"not within {within:g} s: {what or condition}; last value: {value!r}")
        await asyncio.sleep(0.02)
