"""A small steady load that remembers every answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import cycle

import httpx

NAMES = ("Tom", "Mary", "Anna", "Paul", "Peter", "Emma", "Max", "Eva", "John", "Laura", "Marie", "Martin", "Robert")


@dataclass
class Outcome:
    """One request: when it was sent (monotonic seconds), its status (0: no answer) and problem code."""

    sent: float
    status: int
    code: str


@dataclass
class Load:
    """Outcomes in the order of the answers."""

    outcomes: list[Outcome] = field(default_factory=list[Outcome])

    def failed(self) -> list[Outcome]:
        return [outcome for outcome in self.outcomes if outcome.status != 200]


@asynccontextmanager
async def steady_load(client: httpx.AsyncClient, source: str, target: str, rate: float) -> AsyncGenerator[Load]:
    """Send ``rate`` requests a second, open loop, while the block lasts; at its end wait for the last answers."""
    load = Load()
    names = cycle(NAMES)
    pending: set[asyncio.Task[None]] = set()

    async def send() -> None:
        sent = time.monotonic()
        # What is under way twice would be computed once.
        body = {"text": f"Good morning, {next(names)}.", "source_lang": source, "target_lang": target}
        try:
            response = await client.post("/translate", json=body)
        except httpx.TransportError as error:
            load.outcomes.append(Outcome(sent, 0, type(error).__name__))
            return
        code = "" if response.status_code == 200 else response.json()["code"]
        load.outcomes.append(Outcome(sent, response.status_code, code))

    async def run() -> None:
        while True:
            task = asyncio.create_task(send())
            pending.add(task)
            task.add_done_callback(pending.discard)
            await asyncio.sleep(1 / rate)

    runner = asyncio.create_task(run())
    try:
        yield load
    finally:
        runner.cancel()
        await asyncio.gather(runner, return_exceptions=True)
        if pending:
            await asyncio.wait(pending, timeout=30)
