"""Segment pool: worker tasks that translate the segments of one text."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from apiserver.formats.document import has_placeholders
from apiserver.translation.planner import Plan, TextStep
from apiserver.translation.segment_translator import SegmentResult


class SegmentPool:
    """Translates a plan's segments; mutable state: the queue, the workers started, results by text.

    Equal segments are translated once: tables and menus repeat themselves. That holds at most one result per segment.
    """

    def __init__(
        self,
        plan: Plan,
        translate: Callable[[TextStep], Awaitable[SegmentResult]],
        on_result: Callable[[int, SegmentResult], None],
        max_workers: int,
    ) -> None:
        self._plan = plan
        self._translate = translate
        self._on_result = on_result
        self._free_workers = max_workers
        self._group = asyncio.TaskGroup()
        self._queue = iter(plan.segment_indices)
        self._results: dict[str, asyncio.Future[SegmentResult]] = {}

    async def run(self, workers: int) -> None:
        """Translate every segment, beginning with that many workers; each result goes to ``on_result`` with its index."""
        try:
            async with self._group:
                for _ in range(workers):
                    self.grow()
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None

    def grow(self) -> None:
        """Start one more worker, if there may be more; only from within :meth:`run`."""
        if self._free_workers:
            self._free_workers -= 1
            self._group.create_task(self._work())

    async def _work(self) -> None:
        for index in self._queue:
            step = self._plan.steps[index]
            if not isinstance(step, TextStep):
                continue
            if (known := self._results.get(step.text)) is not None:
                self._on_result(index, await known)
                continue
            future: asyncio.Future[SegmentResult] = asyncio.get_running_loop().create_future()
            if not has_placeholders(step.text):  # their characters may mean others in the next block
                self._results[step.text] = future
            result = await self._translate(step)
            future.set_result(result)
            self._on_result(index, result)
