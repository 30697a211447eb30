"""Tasks that run together and end together."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import TypeVar

T = TypeVar("T")


async def gather_results(work: Iterable[Coroutine[None, None, T]]) -> list[T]:
    """Await all of the work; what fails first ends the rest and is raised itself."""
    first, *others = work
    if not others:  # most requests: no task for it
        return [await first]
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(each) for each in (first, *others)]
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from None
    return [task.result() for task in tasks]
