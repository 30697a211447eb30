"""Waiting for an outcome instead of sleeping."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

LOOK_SECONDS: Final = 0.02


async def wait_until(condition: Callable[[], Any | Awaitable[Any]], within: float, what: str = "") -> Any:
    """Return the condition's first true value; fail after so many seconds, saying what was waited for."""
    until = time.monotonic() + within
    while True:
        outcome = condition()
        value: Any = await outcome if inspect.isawaitable(outcome) else outcome
        if value:
            return value
        if time.monotonic() > until:
            raise AssertionError(f"not within {within:g} s: {what or condition}; last value: {value!r}")
        await asyncio.sleep(LOOK_SECONDS)
