"""Tasks that run together and end together."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import TypeVar

T = TypeVar("T")


async def gather_results(coroutines: Iterable[Coroutine[None, None, T]]) -> list[T]:
    """Await all coroutines; what fails first ends the rest and is raised itself."""
    first, *others = coroutines
    if not others:  # most requests: no task for it
        return [await first]
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(coroutine) for coroutine in (first, *others)]
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from None
    return [task.result() for task in tasks]
