"""Segment pool: worker tasks that translate the segments of one text."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Final

from apiserver.protection.placeholder_encoding import placeholders_in
from apiserver.translation.planner import Plan, TextStep
from apiserver.translation.segment_translator import SegmentResult

# Workers that a worker starts once it has its first permit.
GROWTH: Final = 2


class SegmentPool:
    """Translates a plan's segments; mutable state: the queue, the workers started, results by text.

    Equal segments are translated once: tables and menus repeat themselves. That holds at most one result per segment.
    """

    def __init__(
        self,
        plan: Plan,
        translate: Callable[[TextStep], Awaitable[SegmentResult]],
        on_result: Callable[[int, SegmentResult], None],
        permit: Callable[[], AbstractAsyncContextManager[None]],
        max_workers: int,
    ) -> None:
        self._plan = plan
        self._translate = translate
        self._on_result = on_result
        self._permit = permit
        self._max_workers = max_workers
        self._queue = iter(plan.segment_indices)
        self._workers = 0
        self._results: dict[str, asyncio.Future[SegmentResult]] = {}

    async def run(self, workers: int) -> None:
        """Translate every segment, beginning with that many workers; each result goes to ``on_result`` with its index."""
        try:
            async with asyncio.TaskGroup() as group:
                self._start_workers(group, workers)
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None

    def _start_workers(self, group: asyncio.TaskGroup, workers: int) -> None:
        for _ in range(min(workers, self._max_workers - self._workers)):
            self._workers += 1
            group.create_task(self._work(group))

    async def _work(self, group: asyncio.TaskGroup) -> None:
        """Translate segments of the queue until it is empty; start more workers at the first permit."""
        has_grown = False
        for index in self._queue:
            step = self._plan.steps[index]
            if not isinstance(step, TextStep):
                continue
            if (known := self._results.get(step.text)) is not None:
                self._on_result(index, await known)
                continue
            future: asyncio.Future[SegmentResult] = asyncio.get_running_loop().create_future()
            if (
                next(placeholders_in(step.text), None) is None
            ):  # one character may be another placeholder in the next block
                self._results[step.text] = future
            async with self._permit():
                if not has_grown:
                    has_grown = True
                    self._start_workers(group, GROWTH)
                result = await self._translate(step)
            future.set_result(result)
            self._on_result(index, result)
