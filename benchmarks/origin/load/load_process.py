"""The processes that do plans: the generator, and bare, which is its own generator."""

from __future__ import annotations

import asyncio

from benchmarks.origin.designs.bare_engine import READY
from benchmarks.origin.load.driver import Plan, PointLoad, lines, run_plan


class Sender:
    """A process that does plans: the generator, or bare."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    async def load(self, plan: Plan) -> PointLoad:
        """Do a plan."""
        return await run_plan(self._process, plan)

    async def ready(self) -> None:
        """Wait until it says so."""
        if self._process.stdout is not None:
            async for line in lines(self._process.stdout):
                if line == READY:
                    return
        raise RuntimeError("bare did not start")
