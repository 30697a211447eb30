"""A small steady load that keeps every sample."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import count

import httpx

from benchmarks.harness.load import Sample, open_loop, steady

NAMES = ("Tom", "Mary", "Anna", "Paul", "Peter", "Emma", "Max", "Eva", "John", "Laura", "Marie", "Martin", "Robert")


class SteadyLoad:
    """Translations of different texts, so that none is computed once for two; samples in the order of the responses."""

    def __init__(self, client: httpx.AsyncClient, source: str, target: str) -> None:
        self.samples: list[Sample] = []
        self._client = client
        self._languages = {"source_lang": source, "target_lang": target}
        self._numbers = count()

    def failed(self) -> list[Sample]:
        return [sample for sample in self.samples if sample.failed]

    async def send(self, due: float) -> None:
        """Send one request."""
        number, sent = next(self._numbers), time.monotonic()
        status, code = 0, ""
        try:
            body = {"text": f"Good morning, {NAMES[number % len(NAMES)]}.", **self._languages}
            response = await self._client.post("/translate", json=body)
            status, code = response.status_code, "" if response.status_code == 200 else response.json()["code"]
        except httpx.TransportError as error:
            code = type(error).__name__
        self.samples.append(Sample("load", number, 1.0, due, sent, time.monotonic(), status, code))


@asynccontextmanager
async def steady_load(client: httpx.AsyncClient, source: str, target: str, rate: float) -> AsyncGenerator[SteadyLoad]:
    """Send ``rate`` requests a second, open loop, while the block lasts; at its end wait for the last responses."""
    load, stop = SteadyLoad(client, source, target), asyncio.Event()
    sending = asyncio.create_task(open_loop(steady(rate), load.send, stop))
    try:
        yield load
    finally:
        stop.set()
        await sending
